"""Children: started, heard, bounded in time and size, and proven gone."""
