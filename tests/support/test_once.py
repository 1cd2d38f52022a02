"""A property that is computed once."""

from scstream.support.once import once


class Counted:
    times = 0

    @once
    def value(self) -> int:
        """A number."""
        self.times += 1
        return self.times


def test_a_property_is_computed_once_for_each_object() -> None:
    one, other = Counted(), Counted()
    assert [one.value, one.value, other.value, one.value] == [1, 1, 1, 1]
    assert one.times == 1


def test_what_was_computed_can_be_thrown_away() -> None:
    one = Counted()
    assert one.value == 1
    del one.value
    assert one.value == 2


def test_the_class_has_its_words() -> None:
    assert Counted.value.__doc__ == "A number."
