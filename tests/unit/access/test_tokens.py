import threading
from pathlib import Path

import pytest

from appliance.access.desk import Access
from appliance.errors import Unauthenticated
from tests.support.clock import FakeClock


def test_a_token_lets_one_login_happen(access: Access) -> None:
    token = access.tokens.issue()
    access.tokens.redeem(token)
    with pytest.raises(Unauthenticated, match="unknown, used, or older"):
        access.tokens.redeem(token)


def test_a_token_is_good_for_a_day(access: Access, clock: FakeClock) -> None:
    first, second = access.tokens.issue(), access.tokens.issue()
    clock.advance(24 * 3600 - 1)
    access.tokens.redeem(first)
    clock.advance(2)
    with pytest.raises(Unauthenticated):
        access.tokens.redeem(second)


@pytest.mark.parametrize("token", ["", "nonsense", "\udcff", "x" * 10_000])
def test_what_was_never_issued_is_refused(access: Access, token: str) -> None:
    access.tokens.issue()
    with pytest.raises(Unauthenticated):
        access.tokens.redeem(token)


def test_of_many_who_redeem_at_once_one_gets_in(access: Access) -> None:
    token = access.tokens.issue()
    let_in, refused = [], []

    def redeem() -> None:
        try:
            access.tokens.redeem(token)
        except Unauthenticated as exc:
            refused.append(exc)
        else:
            let_in.append(1)

    threads = [threading.Thread(target=redeem) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(let_in), len(refused)) == (1, 7)


def test_no_secret_is_on_the_disk(access: Access, tmp_path: Path) -> None:
    """A stolen backup must not let anybody in."""
    secrets = [access.tokens.issue(), access.sessions.open("administrator"), access.keys.create("ci")]
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert all(secret.encode() not in content for secret in secrets)
