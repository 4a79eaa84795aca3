"""Campaigns: folders of tables measured together, read, written, imported and bundled."""
