"""What the tools take. The sentences are read by models that choose among tools, so they are short and give examples.

Every argument is flat, and has a default where it can have one: small models leave out what they do not understand.
"""

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from appliance.codeintel.query.querylang import LONGEST_QUERY, LONGEST_QUESTION

DEFAULT_TOKENS: Final = 4_000
LEAST_TOKENS: Final = 800
MOST_TOKENS: Final = 12_000
MOST_ITEMS: Final = 100
MOST_STEPS: Final = 5

_LONGEST_NAME: Final = 300
_LONGEST_PATH: Final = 4_096
_LAST_LINE: Final = 100_000_000

Word = Annotated[str, StringConstraints(max_length=100)]
Words = Annotated[list[Word], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
Path = Annotated[str, StringConstraints(max_length=_LONGEST_PATH)]


class Arguments(BaseModel):
    """What every tool takes. Unknown arguments are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: Word = Field("default", description="Leave it out unless you were told of another project.")
    max_tokens: int = Field(DEFAULT_TOKENS, ge=LEAST_TOKENS, le=MOST_TOKENS, description="About how long the answer may be.")


class Paged(Arguments):
    """About a list, which may be longer than an answer."""

    cursor: Word = Field("", description="next_cursor of the answer before; keep all other arguments.")


class Limited(Paged):
    """About a list of which an answer gives some entries."""

    limit: int = Field(20, ge=1, le=MOST_ITEMS, description="Most entries in one answer.")


class Several(Arguments):
    """About all repositories of the project, or about some."""

    repos: Words = Field(default_factory=list, max_length=100, description="Names of repositories; leave it out for all.")
    branches: Words = Field(
        default_factory=list, max_length=20, description="Indexed branches to look at; leave it out for the usual one."
    )
    max_behind: int = Field(
        -1,
        ge=-1,
        le=1_000_000,
        description="0: wait for the newest commit to be indexed; leave it out to take what is there.",
    )


class InFile(Arguments):
    """About one file."""

    path: Path = Field(min_length=1, description="As other tools name it: src/app/main.py")
    repo: Word = Field("", description="Its repository, where several have that path.")


class SearchCode(Limited, Several):
    """Arguments of ``search_code``."""

    query: str = Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description=(
            'Words or names; content:"text as written" and /regular expressions/ give every line that fits; filters such as'
            " lang:python path:src/ -path:test. Examples: retry after timeout; parse_config lang:go; /def \\w+_init/"
        ),
    )


class ReadLines(Paged, InFile):
    """Arguments of ``read_lines``."""

    start_line: int = Field(1, ge=1, le=_LAST_LINE, description="First line, counted from 1.")
    end_line: int = Field(0, ge=0, le=_LAST_LINE, description="Last line; 0 reads on to the end of the file.")
    commit: Word = Field("", description="The indexed commit that the lines must be of; left out: whatever is indexed now.")


class Outline(Limited, InFile):
    """Arguments of ``outline``."""


class Named(Limited, Several):
    """About something that has a name."""

    name: str = Field(
        min_length=1,
        max_length=_LONGEST_NAME,
        description="A function, method or class, qualified where that helps: stream, Client.stream, http.Client.stream",
    )
    path: Path = Field("", description="With line: a file where the name stands, to say which one is meant.")
    line: int = Field(0, ge=0, le=_LAST_LINE, description="With path: the line where the name stands there.")


class Impact(Named):
    """Arguments of ``impact``."""

    steps: int = Field(MOST_STEPS, ge=1, le=MOST_STEPS, description="How many calls away to go. 1: only direct callers.")


class Repomap(Several):
    """Arguments of ``repomap``."""

    focus: Words = Field(
        default_factory=list, max_length=20, description="Names, files or folders that matter; leave it out for the whole."
    )


class Ask(Several):
    """Arguments of ``ask``."""

    question: str = Field(
        min_length=1, max_length=LONGEST_QUESTION, description="A question about the code, in plain words."
    )
    prose: bool = Field(
        default=False,
        description="true: a small local model also writes up to three sentences about the evidence; slow, may be wrong.",
    )
