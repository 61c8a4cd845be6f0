"""The ERP: orders, refunds, stock and the warehouse, behind OAuth 2, with idempotency keys and business rules."""
