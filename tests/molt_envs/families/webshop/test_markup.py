"""The observation modes `text_rich` and `html`: the same pages and links as `text`, shown in other ways."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from molt_envs.families.webshop.env import ObservationMode, WebShopEnv
from molt_envs.families.webshop.oracle import RandomPolicy, instruction_of
from tests.molt_envs.families.webshop.shop_files import products, write_shop

MODES: list[ObservationMode] = ["text", "text_rich", "html"]


class Reader(HTMLParser):
    """What a browser would find: click values, pressed ones, visible text. Checks that tags are closed."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.values: list[str] = []
        self.pressed: list[str] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(document)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in ("meta", "input"):
            self._open.append(tag)
        if found.get("name") == "click":
            self.values.append(str(found["value"]))
            self.pressed += [self.values[-1]] * (found.get("aria-pressed") == "true")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and "title" not in self._open:
            self.texts.append(data.strip())


def shop(folder: Path, mode: ObservationMode, *actions: str, product: str = "lamps") -> str:
    """The observation after these actions in the first task that asks for `product`."""
    env = WebShopEnv(data_dir=write_shop(folder), observation_mode=mode)
    for index in range(env.card.splits["test"]):
        observation, _ = env.reset(options={"task_id": f"test:{index}"})
        if product in observation:
            break
    for action in actions:
        observation = env.step(action)[0]
    return observation


def test_rich_text_marks_the_buttons(tmp_path: Path) -> None:
    assert shop(tmp_path, "text_rich", "search[lamp]") == (
        "Instruction:\nFind me warm light lamps\n[button] Back to Search [button_]\n"
        "Page 1 (Total results: 1)\n\n[button] B000000004 [button_]\nBrass Lamp é 灯\n$985.0"
    )


def test_rich_text_marks_what_was_clicked(tmp_path: Path) -> None:
    path = ("search[cotton]", "click[b000000001]", "click[red]")
    assert shop(tmp_path, "text_rich", *path) == (
        "You have clicked red.\nInstruction:\nFind me warm light lamps\n[button] Back to Search [button_]\n"
        "[button] < Prev [button_]\ncolor\n  [clicked button] red [clicked button_]\n"
        "  [button] light blue [button_]\nsize\n  [button] 5 | 6 [button_]\n  [button] 7 [button_]\n"
        "Acme Cotton Shirt\nPrice: $19.99\nRating: N.A.\n[button] Description [button_]\n"
        "[button] Features [button_]\n[button] Reviews [button_]\n[button] Buy Now [button_]"
    )
    results = shop(tmp_path, "text_rich", *path, "click[< prev]")
    assert "[clicked button] B000000001 [clicked button_]" in results
    assert "You have clicked" not in results


def test_an_equal_value_of_another_group_is_not_marked(tmp_path: Path) -> None:
    page = shop(tmp_path, "text_rich", "search[twin]", "click[b000000003]", "click[inner: white]")
    assert page.count("[clicked button] white") == 1
    assert page.index("inner") < page.index("[clicked button] white")


def test_html_has_a_button_for_each_click(tmp_path: Path) -> None:
    reader = Reader(shop(tmp_path, "html", "search[twin]", "click[b000000003]", "click[inner: white]"))
    assert reader.values == [
        "back to search", "< prev", "outer: black", "outer: white", "inner: white", "inner: black",
        "notes: buy now", "notes: features", "description", "features", "reviews", "buy now",
    ]  # fmt: skip
    assert reader.pressed == ["inner: white"]


def test_html_escapes_what_sellers_write(tmp_path: Path) -> None:
    records = products()
    records[3]["name"] = '</h2><script>alert("x")</script> & [SEP] co'
    records[3]["customization_options"] = {"a<b": [{"value": '"><i>'}]}
    write_shop(tmp_path, products=records)
    env = WebShopEnv(data_dir=tmp_path, observation_mode="html")
    env.reset(seed=0, options={"split": "test"})
    results = env.step("search[alert]")[0]
    item = env.step("click[b000000004]")[0]
    for page in (results, item):
        assert "<script>" not in page
        assert records[3]["name"] in Reader(page).texts
    assert '"><i>' in Reader(item).values
    assert Reader(env.step('click["><i>]')[0]).pressed == ['"><i>']


def test_a_huge_item_is_cut_between_two_parts(tmp_path: Path) -> None:
    records = products()
    records[3]["small_description"] = ["&" * 7_000] * 20
    write_shop(tmp_path, products=records)
    env = WebShopEnv(data_dir=tmp_path, observation_mode="html")
    env.reset(seed=0, options={"split": "test"})
    for action in ("search[brass]", "click[b000000004]", "click[features]"):
        page = env.step(action)[0]
    assert len(Reader(page).texts) >= 3
    assert len(page) <= env.card.max_observation_chars


@pytest.mark.parametrize("goals", ["synthetic", "human"])
def test_all_modes_have_the_same_links_scores_and_states(goals: str) -> None:
    shops = [WebShopEnv(goals=goals, observation_mode=mode) for mode in MODES]  # type: ignore[arg-type]
    for index in range(15):
        views = [env.reset(options={"task_id": f"test:{index}"}) for env in shops]
        policy = RandomPolicy(index) if index % 2 else shops[0].oracle(index)
        ended = False
        while not ended:
            assert len({instruction_of(observation) for observation, _ in views}) == 1
            action = policy.act(*views[0])
            steps = [env.step(action) for env in shops]
            assert steps[0][1:] == steps[1][1:] == steps[2][1:]
            ended = steps[0][2] or steps[0][3]
            views = [(step[0], step[4]) for step in steps]
            listed = [
                click[6:-1] for click in views[0][1]["admissible_actions"] if click.startswith("click[")
            ]
            assert sorted(Reader(views[2][0]).values) == sorted(listed)


@pytest.mark.parametrize("mode", MODES)
def test_every_string_of_a_page_is_in_every_mode(mode: ObservationMode, tmp_path: Path) -> None:
    path = ("search[lamp]", "click[b000000004]", "click[reviews]")
    page = shop(tmp_path, mode, *path)
    for text in ("Find me warm light lamps", "Back to Search", "< Prev", "Lovely", "Shines well."):
        assert text in (page if mode != "html" else " ".join(Reader(page).texts))


@pytest.mark.parametrize("mode", MODES)
def test_buying_shows_the_score(mode: ObservationMode, tmp_path: Path) -> None:
    page = shop(tmp_path, mode, "search[lamp]", "click[b000000004]", "click[buy now]")
    shown = {"text": page.split(" [SEP] "), "text_rich": page.split("\n"), "html": Reader(page).texts}[mode]
    assert shown[0] == "Thank you for shopping with us!"
    assert shown[-2:] == ["Your score (min 0.0, max 1.0)", "1.0"]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="choose 'text', 'text_rich' or 'html'"):
        WebShopEnv(observation_mode="url")  # type: ignore[arg-type]
