"""What the service costs: requests against a bare echo, a run that is watched, the page."""
