"""The daemon as a service of the user: what is written for systemd and launchd, and the commands that apply it."""
