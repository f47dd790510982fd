"""What ``project.db`` promises of generations and facts."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from appliance.base.paths import ProjectPaths
from appliance.base.sqlite import connect
from appliance.codeintel.facts import BlobFacts, pack_facts, unpack_facts
from appliance.codeintel.store.code import CodeStore, MatrixRow
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.schema import PROJECT
from appliance.errors import StoreCorrupt
from appliance.ids import GenerationId, RepoId, new_id
from tests.support.generations import RECIPE, facts_of, publish

A, B = RepoId("repo_a"), RepoId("repo_b")


def folders(store: CodeStore) -> set[str]:
    return {path.name for path in store.paths.generations.iterdir()}


def test_each_branch_of_a_repo_has_a_generation_of_its_own_and_they_go_together(store: CodeStore) -> None:
    own = publish(store, A, {"a.py": facts_of("one")})
    other = publish(store, A, {"a.py": facts_of("two")}, branch="next")
    assert {branch: published.generation for branch, published in store.branches(A).items()} == {
        "": own.id,
        "next": other.id,
    }
    store.retire(live={A}, keep=0)
    store.sweep()
    assert folders(store) == {own.id, other.id}
    store.keep_branches(A, ())
    store.retire(live={A}, keep=0)
    store.sweep()
    assert (list(store.branches(A)), folders(store)) == ([""], {own.id})


def test_what_an_older_version_published_is_what_readers_get_who_name_no_branch(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    with closing(connect(paths.db, migrations=PROJECT[:3])) as conn:
        conn.execute("INSERT INTO generations VALUES ('gen_1', 'repo_a', 'gen_1', 'tree', 'recipe', 0.0, x'')")
        conn.execute("INSERT INTO published VALUES ('repo_a', 'gen_1')")
    with closing(CodeStore(paths)) as store:
        assert {branch: published.folder for branch, published in store.branches(A).items()} == {"": "gen_1"}


def test_what_an_older_version_found_under_another_policy_is_forgotten(tmp_path: Path) -> None:
    """It may hold secrets that are masked by now."""
    paths = ProjectPaths(tmp_path)
    with closing(connect(paths.db, migrations=PROJECT[:4])) as conn:
        conn.execute("INSERT INTO blobs VALUES ('1/open', 'b1', '', '', '', x'00'), ('1/masked', 'b2', '', '', '', x'00')")
    with closing(CodeStore(paths)) as store:
        assert [store.forget_other_policies("masked") for _ in range(2)] == [True, False]
        assert store.forget_facts(used=set(), everything=True) == 1


def test_facts_come_back_as_they_were() -> None:
    facts = facts_of("def f(): ...", "f")
    assert unpack_facts(pack_facts(facts).facts, BlobFacts) == facts


def test_rotten_facts_are_called_corrupt() -> None:
    packed = bytearray(pack_facts(facts_of("x" * 500)).facts)
    packed[20] ^= 0xFF
    with pytest.raises(StoreCorrupt):
        unpack_facts(bytes(packed), BlobFacts)


def test_nothing_is_published_before_the_first_generation(store: CodeStore) -> None:
    assert store.published(A) is None


def test_the_newest_generation_is_the_published_one(store: CodeStore) -> None:
    publish(store, A, {"a.py": facts_of("one")})
    newest = publish(store, A, {"a.py": facts_of("two")})
    published = store.published(A)
    assert published is not None
    assert published.generation == newest.id
    assert store.info(newest.id) == newest


def test_the_newest_two_generations_of_a_repo_are_kept(store: CodeStore) -> None:
    made = [publish(store, A, {"a.py": facts_of(str(number))}).id for number in range(4)]
    other = publish(store, B, {"b.py": facts_of("b")}).id
    store.retire(live={A, B})
    assert store.sweep() == 2
    assert folders(store) == {*made[2:], other}


def test_a_sweep_removes_what_dead_attempts_left_and_nothing_else(store: CodeStore) -> None:
    info = publish(store, A, {"a.py": facts_of("one")})
    (store.paths.generations / new_id("gen") / "lexical").mkdir(parents=True)
    assert store.sweep() == 1
    assert folders(store) == {info.id}
    assert Generation(store.paths.generations / info.id, info).files.paths == ["a.py"]


def test_a_published_generation_outlives_any_number_of_sweeps_even_if_the_clock_went_back(store: CodeStore) -> None:
    """Housekeeping must never take away the index that searches read."""
    info = publish(store, A, {"a.py": facts_of("one")})
    for _ in range(3):
        store.retire(live={A}, keep=0)
        store.sweep()
    published = store.published(A)
    assert published is not None
    assert folders(store) == {info.id}


def test_generations_of_a_repo_that_was_removed_go(store: CodeStore) -> None:
    publish(store, A, {"a.py": facts_of("one")})
    kept = publish(store, B, {"b.py": facts_of("two")})
    store.retire(live={B})
    store.sweep()
    assert store.published(A) is None
    assert folders(store) == {kept.id}


def test_a_folder_is_adopted_only_while_a_generation_owns_it(store: CodeStore) -> None:
    info = publish(store, A, {"a.py": facts_of("one")})
    assert store.publish(_like(info, B), folder=info.id, recipe=RECIPE, adopt=True)
    store.retire(live=())
    assert not store.publish(_like(info, B), folder=info.id, recipe=RECIPE, adopt=True)
    assert store.published(B) is None


def test_an_adopted_folder_stays_while_either_repo_uses_it(store: CodeStore) -> None:
    info = publish(store, A, {"a.py": facts_of("one")})
    store.publish(_like(info, B), folder=info.id, recipe=RECIPE, adopt=True)
    store.retire(live={B})
    store.sweep()
    assert folders(store) == {info.id}


def test_the_same_tree_is_found_again_only_for_the_same_repo_under_the_same_recipe(store: CodeStore) -> None:
    info = publish(store, A, {"a.py": facts_of("one")})
    assert store.same_tree(info.tree, repo=A, recipe=RECIPE) == (info.id, info)
    assert store.same_tree(info.tree, repo=A, recipe="other") is None
    assert store.same_tree(info.tree, repo=B, recipe=RECIPE) is None
    assert store.same_tree("other", repo=A, recipe=RECIPE) is None


def test_the_info_says_how_far_the_vectors_are(store: CodeStore) -> None:
    info = publish(store, A, {name: facts_of(name) for name in ("a.py", "b.py", "c.py", "d.py", "t.py")})
    assert store.info(info.id).completeness == 0
    assert store.publish_matrix(info.id, MatrixRow(serial=1, model="m", embedded=3, skipped=1, failed=1))
    now = store.info(info.id)
    assert (now.vectors, now.vectors_skipped, now.vectors_failed, now.completeness) == (3, 1, 1, 0.75)
    published = store.published(A)
    assert published is not None
    assert published.matrix == 1


def test_a_matrix_of_a_generation_that_is_gone_is_not_published(store: CodeStore) -> None:
    assert not store.publish_matrix("gen_gone", MatrixRow(serial=1, model="m", embedded=3, skipped=1, failed=1))


def _like(info: GenerationInfo, repo: RepoId) -> GenerationInfo:
    return msgspec.structs.replace(info, id=GenerationId(new_id("gen")), repo=repo)
