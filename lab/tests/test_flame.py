from xml.etree import ElementTree

from pagewalk.report.flame import draw, read

FOLDED = "hello;kernel;flush;htab_flush 300\nhello;kernel;kernel;sys_write<x> 100\nhello;user;main 600\n"


def test_stacks_add_up() -> None:
    root = read(FOLDED)
    assert root.cycles == 1000
    assert root.below["hello"].below["kernel"].cycles == 400


def test_the_graph_is_valid_and_names_every_frame() -> None:
    graph = ElementTree.fromstring(draw(FOLDED))
    titles = [element.text or "" for element in graph.iter("{http://www.w3.org/2000/svg}title")]
    assert "main: 600 cycles, 60.00%" in titles
    assert "sys_write<x>: 100 cycles, 10.00%" in titles
