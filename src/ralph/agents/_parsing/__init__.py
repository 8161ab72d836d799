"""What agents print, as events: each format once, and the parts that formats share."""
