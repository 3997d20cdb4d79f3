"""The backends of a fetch, one module or package each, behind one contract; the router walks them in order."""
