"""Which context a call uses, and which call is explained."""

import asyncio
import contextvars
import gc
import threading

import duoblas
import numpy as np
import pytest

X = np.ones(100, np.float32)


def elsewhere(work):
    """Runs it on another thread."""
    result = []
    thread = threading.Thread(target=lambda: result.append(work()))
    thread.start()
    thread.join()
    return result[0]


# ---- Blocks ----

def test_the_same_context_again():
    a, b = duoblas.Context(), duoblas.Context()
    with a:
        with b:
            with a:
                assert duoblas.default_context() is a
            assert duoblas.default_context() is b and not a.closed
        assert duoblas.default_context() is a
    assert a.closed and b.closed


def test_tasks():
    """Each is in its own blocks, and in those that it was made in."""
    good = []

    async def block(math):
        with duoblas.Context(math=math) as ctx:
            for _ in range(5):
                await asyncio.sleep(0)
                good.append(duoblas.default_context() is ctx)

    async def expects(ctx):
        for _ in range(5):
            await asyncio.sleep(0)
            good.append(duoblas.default_context() is ctx)

    async def main():
        own = duoblas.default_context()
        await asyncio.gather(block("float64"), block("tf32"), expects(own))
        with duoblas.Context() as outer:
            await asyncio.gather(block("float64"), expects(outer))
            task = asyncio.ensure_future(expects(own))
        await task  # the block has ended, for it as well

    asyncio.run(main())
    assert len(good) == 30 and all(good)


def test_threads_begin_outside():
    with duoblas.Context() as ctx:
        assert contextvars.Context().run(elsewhere, duoblas.default_context) is not ctx
        copy = contextvars.copy_context()
        assert elsewhere(lambda: copy.run(duoblas.default_context)) is ctx


def test_block_that_ends_on_another_thread():
    """It ends on all."""
    own = duoblas.default_context()
    ctx = duoblas.Context()
    ctx.__enter__()
    with duoblas.Context() as inner:
        elsewhere(lambda: ctx.__exit__(None, None, None))
        assert ctx.closed and duoblas.default_context() is inner
    assert duoblas.default_context() is own
    ctx = duoblas.Context()
    elsewhere(ctx.__enter__)
    assert duoblas.default_context() is own
    ctx.__exit__(None, None, None)
    assert ctx.closed and duoblas.default_context() is own


def test_blocks_of_generators():
    """They end when the generator does, among blocks of its caller."""
    def block(ctx):
        with ctx:
            yield

    own = duoblas.default_context()
    first, second = duoblas.Context(), duoblas.Context()
    generator = block(first)
    next(generator)
    with second:
        generator.close()
        assert first.closed and duoblas.default_context() is second
    assert duoblas.default_context() is own


def test_context_closed_in_its_block():
    """Its calls are not made by another one."""
    with duoblas.Context() as ctx:
        ctx.close()
        with pytest.raises(ValueError, match="closed"):
            duoblas.ssum(X)
    assert duoblas.ssum(X) == 100


def test_an_exit_too_many():
    ctx = duoblas.Context()
    with ctx:
        pass
    ctx.__exit__(None, None, None)
    assert ctx.closed and duoblas.ssum(X) == 100


# ---- Explanations ----

def test_after_the_block():
    duoblas.ssum(X)
    with duoblas.Context(path="cpu") as ctx:
        duoblas.sdot(X, X)
        told = ctx.explain()
    assert duoblas.explain() == told and told["operation"] == "sdot"
    del ctx
    with duoblas.Context(path="cpu"):
        duoblas.sasum(X)
    gc.collect()
    assert duoblas.explain()["operation"] == "sasum"
    ctx = duoblas.Context()
    duoblas.ssum(X, ctx=ctx)
    del ctx
    gc.collect()
    assert duoblas.explain()["operation"] == "ssum"


def test_no_call():
    def work():
        with pytest.raises(LookupError), duoblas.Context():
            duoblas.explain()
        return True
    assert elsewhere(work)
    with duoblas.Context() as ctx, pytest.raises(LookupError):
        ctx.explain()
    with pytest.raises(ValueError, match="closed"):
        ctx.explain()
    duoblas.ssum(X)
    with pytest.raises(ValueError, match="closed"):
        duoblas.sasum(X, ctx=ctx)
    assert duoblas.explain()["operation"] == "ssum"


def test_shared_context():
    """The last call is this thread's, whoever uses its context since."""
    with duoblas.Context() as ctx:
        duoblas.ssum(X)
        elsewhere(lambda: duoblas.sasum(X[:50], ctx=ctx))
        assert duoblas.explain()["operation"] == "ssum"
        assert duoblas.explain(ctx)["operation"] == "sasum"
        assert elsewhere(lambda: duoblas.sdot(X, X, ctx=ctx) and duoblas.explain())["n"] == 100
        assert duoblas.explain()["operation"] == "ssum"
        duoblas.sasum(X)
        assert duoblas.explain() == ctx.explain()


def test_contexts_by_turns():
    with duoblas.Context() as a, duoblas.Context() as b:
        for _ in range(3):
            duoblas.ssum(X, ctx=a)
            duoblas.sasum(X, ctx=b)
            assert duoblas.explain()["operation"] == "sasum"
        assert (a.explain()["operation"], b.explain()["operation"]) == ("ssum", "sasum")
        duoblas.sdot(X, X, ctx=a)
        b.close()
        assert duoblas.explain()["operation"] == "sdot"


def test_contexts_are_not_kept_alive():
    import weakref
    ctx = duoblas.Context()
    duoblas.ssum(X, ctx=ctx)
    gone = weakref.ref(ctx)
    del ctx
    gc.collect()
    assert gone() is None


def test_info_is_no_call():
    duoblas.sdot(X, X)
    duoblas.info()
    assert duoblas.explain()["operation"] == "sdot"
