"""Speed as ratios, each against a named peer or limit, measured in one run."""
