"""Compare measured with published results: tables, statistics, verdicts and claims."""
