"""Services: the processes that Practicum starts on this machine, and how exactly those are ended again."""
