"""The CRM: customers, notes and tickets, behind an API key, in pages that go on by a cursor."""
