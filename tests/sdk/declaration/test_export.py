"""What a declaration of what is there says: all of it, and of a credential the place where it has to stand."""

from practicum.contracts.access import Budget, Outcome, Role, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.declared import Declared
from practicum.contracts.issuers import Issuer
from practicum.declaration import HOLD, exported


def test_credentials_are_named_by_a_variable_or_their_reference() -> None:
    schemes: JsonObject = {
        "kind": "schemes",
        "schemes": {
            "a-key": {"kind": "api_key", "value": None, "name": "X-Key"},
            "login": {"kind": "basic", "username": "ada", "password": "secret://vault/crm#password"},
        },
    }
    connectors = [
        Declared(
            name="crm", said={"base_url": "https://crm.example.com", "auth": schemes}, document={"openapi": "3.1.0"}
        ),
        Declared(
            name="erp",
            said={
                "document": "https://erp.example.com/openapi.json",
                "practice": {"auth": {"kind": "bearer", "token": None}},
            },
        ),
        Declared(name="tools", said={"mcp": "https://tools.example.com/mcp"}),
    ]
    rules = RuleSet(
        rules=(Rule(id=HOLD, tools=("crm.*",), outcome=Outcome.DENY), Rule(id="reads", outcome=Outcome.ALLOW)),
        budgets=(Budget(id="rate", calls=60, seconds=60),),
    )
    issuer = Issuer(name="okta", issuer="https://okta.example.com", audience="practicum", roles={"admins": Role.ADMIN})
    models = [Declared(name="mini", said={"target": "openai/x", "api_key": None})]
    found = exported("main", connectors=connectors, rules=rules, issuers=[issuer], models=models, webhooks=[])

    assert found.documents == {"documents/crm.json": {"openapi": "3.1.0"}}
    assert found.places == {
        "CRM_A_KEY_VALUE": "auth schemes a-key value of 'crm'",
        "ERP_PRACTICE_TOKEN": "practice auth token of 'erp'",
        "MINI_API_KEY": "api_key of 'mini'",
    }
    assert found.declaration == {
        "practicum": 1,
        "tenants": {
            "main": {
                "connectors": {
                    "crm": {
                        "document": "documents/crm.json",
                        "base_url": "https://crm.example.com",
                        "auth": {
                            "kind": "schemes",
                            "schemes": {
                                "a-key": {"kind": "api_key", "value": "env:CRM_A_KEY_VALUE", "name": "X-Key"},
                                "login": {
                                    "kind": "basic",
                                    "username": "ada",
                                    "password": "secret://vault/crm#password",
                                },
                            },
                        },
                    },
                    "erp": {
                        "document": "https://erp.example.com/openapi.json",
                        "practice": {"auth": {"kind": "bearer", "token": "env:ERP_PRACTICE_TOKEN"}},
                    },
                    "tools": {"mcp": "https://tools.example.com/mcp"},
                },
                "rules": [{"id": "reads", "outcome": "allow"}],
                "budgets": [{"id": "rate", "calls": 60, "seconds": 60}],
                "issuers": {
                    "okta": {
                        "issuer": "https://okta.example.com",
                        "audience": "practicum",
                        "roles": {"admins": "admin"},
                    }
                },
                "models": {"mini": {"target": "openai/x", "api_key": "env:MINI_API_KEY"}},
                "webhooks": {},
            }
        },
    }
