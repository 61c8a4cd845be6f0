"""The words by which names tell what a call does.

English only: in other languages a document or an overlay says the effect.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READING = _words(
    """search query find list get lookup fetch read show describe browse preview estimate calculate compute filter count
    suggest autocomplete validate simulate aggregate paginate is has can"""
)
"""Verbs that only read, wherever they lead a name."""

READING_SEGMENTS = READING | _words("export report compare diff check verify view quote dryrun")
"""Words that only read when they are a whole path segment: `POST /reports/export`, but not `POST /check-runs`."""

LOOKING = READING | _words("download check view export compare look report head exists options")
"""Verbs of safe methods: what they name is looked at, whatever else the name says."""

WRITING = _words("create add insert upsert save put write register")
"""Verbs that write."""

MONEY = _words(
    """refund refunds payment payments pay payout payouts charge charges invoice invoices transfer transfers withdrawal
    withdrawals withdraw deposit deposits disbursement disbursements purchase purchases checkout
    reimbursement reimbursements chargeback remittance capture topup"""
)
"""Words of moving money."""

DELETING = _words("delete remove purge destroy terminate revoke erase drop wipe trash")
"""Verbs that delete."""

EXTERNAL = _words(
    """send email emails sms notify notification notifications message messages publish broadcast deploy deployment
    deployments release releases trigger dispatch dispatches run runs execute invite invitation invitations call
    calls webhook fax ship tweet print"""
)
"""Words of what others notice and nobody takes back."""

UPDATING = _words(
    """update edit set modify change activate deactivate enable disable cancel close reopen approve reject archive
    unarchive lock unlock assign unassign start stop restart pause resume reset rename move merge restore complete
    accept decline suspend mark replace rotate retry rerun rollback promote"""
)
"""Verbs that change something."""

CLEAR_DEEDS = DELETING | _words(
    """deactivate activate disable enable cancel approve reject unlock unassign restart suspend reopen rollback trigger
    unarchive resume decline unsubscribe logout send refund pay"""
)
"""Words that are no nouns: a safe method whose path ends in one is a deed in disguise."""

SENDING = _words("send trigger publish deploy notify")
"""Deeds of a safe method that reach others."""
