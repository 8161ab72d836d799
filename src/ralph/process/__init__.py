"""Child processes: started, listened to, bounded in time and size, and proven gone."""
