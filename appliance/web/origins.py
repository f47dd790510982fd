"""Which page a browser was on when it made a request."""

from urllib.parse import urlsplit

from litestar.datastructures import Headers

from appliance.errors import WrongOrigin


def check_origin(headers: Headers, *, with_session: bool) -> None:
    """Return if a program made the request, or a page of ours; raise `WrongOrigin` if a page of another site did.

    *with_session*: it brings what only a browser has, and must say where it was made.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        if site in {"same-origin", "none"}:
            return
    else:
        origin = headers.get("origin")
        if origin is None and not with_session:
            return
        if origin is not None and urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != "":
            return
    raise WrongOrigin(
        "The request was made by a page of another site.", remedy="Open the console itself, or use an API key."
    )
