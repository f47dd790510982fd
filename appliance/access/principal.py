"""Who is asking, and what they may do."""

from dataclasses import dataclass
from typing import Final, Literal

from appliance.errors import Forbidden

Permission = Literal["read", "manage"]

EVERYTHING: Final[frozenset[Permission]] = frozenset({"read", "manage"})


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who proved who they are. ``name`` is what the audit log calls them."""

    kind: Literal["session", "key"]
    name: str
    permissions: frozenset[Permission]

    def require(self, permission: Permission) -> None:
        """Return if this principal has *permission*; raise `Forbidden` if not."""
        if permission not in self.permissions:
            raise Forbidden(
                f"{self.name} may not do this: it needs the permission to {permission}.",
                remedy="Log in, or use the command line's own key: they may do everything.",
                permission=permission,
            )
