"""The resident process that owns Chrome, the profile, the tabs and the extraction workers."""
