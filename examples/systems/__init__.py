"""Three systems of a small company, true to life and different in their habits: CRM, ERP and CI/CD."""
