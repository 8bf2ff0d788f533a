"""One handoff: plan, consent, lease, delivery, execution, arrival, proof, records and outcome."""
