"""The handoff documents of the founding text, one for each tier, as they stand there; comments and all."""

from __future__ import annotations

FULL = """\
handoff:
  from_agent: improve-coordinator
  to_agent: plugin-analyzer
  context_level: FULL

  payload:
    plugin_path: "/path/to/plugin"
    plugin_manifest:
      name: "plugin-name"
      version: "1.0.0"
      # Full manifest
    agent_files:
      - file: "agents/coordinator.md"
        content: |
          # Full content
      - file: "coordinator-internal/analyzer.md"
        content: |
          # Full content
    mode: "all"

  not_passed:
    - git_history
    - node_modules
    - build_artifacts

  expected_output:
    format: yaml
    schema: PluginAnalysis
"""

SELECTIVE = """\
handoff:
  from_agent: improve-coordinator
  to_agent: context-optimizer
  context_level: SELECTIVE

  payload:
    analysis_summary:
      plugin_name: "red-agent"
      violations_count: 5
      opportunities_count: 8
    focus_area: "context"
    relevant_files:
      - file: "agents/coordinator.md"
        content: |
          # Only this file has context issues
    violations_to_address:
      - type: "MISSING_TIER"
        file: "agents/coordinator.md"

  not_passed:
    - full_plugin_contents
    - files_without_issues
    - orchestration_violations
    - handoff_violations

  expected_output:
    format: yaml
    schema: ContextImprovement[]
"""

FILTERED = """\
handoff:
  from_agent: improve-coordinator
  to_agent: grounding/pattern-checker
  context_level: FILTERED

  payload:
    improvements_to_check:
      - id: "CTX-001"
        type: "TIER_SPEC"
        file: "agents/coordinator.md"
        priority: "HIGH"
      - id: "CTX-002"
        type: "NOT_PASSED"
        file: "agents/analyzer.md"
        priority: "HIGH"
      # Only HIGH priority in this batch
    focus_area: "context"
    improvement_count: 5  # Total for context

  not_passed:
    - MEDIUM_priority_improvements
    - LOW_priority_improvements
    - full_analysis_results
    - code_samples  # Just IDs for checking

  expected_output:
    format: yaml
    schema: PatternCompliance[]
"""

MINIMAL = """\
handoff:
  from_agent: command
  to_agent: coordinator
  context_level: MINIMAL

  payload:
    mode: "all"
    target_path: "/path/to/plugin"
    # Just identifiers and settings

  not_passed:
    - file_contents
    - prior_analysis
    - conversation_context

  expected_output:
    format: yaml
    schema: ImprovementReport
"""

METADATA = """\
handoff:
  from_agent: improve-coordinator
  to_agent: improvement-synthesizer
  context_level: METADATA

  payload:
    selected_improvements:
      - id: "CTX-001"
        description: "Add context tier to coordinator"
        files_modified: ["agents/coordinator.md"]
      - id: "CTX-002"
        description: "Add NOT PASSED section"
        files_modified: ["agents/analyzer.md"]
    scope_metadata:
      plugin_name: "red-agent"
      files_analyzed: 14
      improvements_available: 8
      improvements_selected: 2
    grounding_summary:
      pattern_compliant: 2
      estimated_reduction: "35%"

  not_passed:
    - full_analysis_results
    - rejected_improvements
    - original_plugin_contents
    - intermediate_outputs

  expected_output:
    format: yaml
    schema: ImprovementReport
"""

AS_WRITTEN = {
    "FULL": FULL,
    "SELECTIVE": SELECTIVE,
    "FILTERED": FILTERED,
    "MINIMAL": MINIMAL,
    "METADATA": METADATA,
}
