"""Blocks of a cluster, which bring each other what all of them read: products are what they are without, and the Steps are written and read."""

import pytest

import tensorwright as tw
from tensorwright import te
from fake_device import has_nvrtc, needs_fake, run
from tiles_of_blocks import X, check, check_written_and_read, operands, tiled


def by_cluster(tensors, blocks=2, of="rows", stages=3, roles=False, tiles=None, columns=64):
    """A tile of 64 x `columns` for each block; `blocks` of a column of tiles, or of a row of them, are a cluster."""
    s, tile, inner = tiled(tensors, columns=columns, stages=stages, beside=(of, blocks))
    C = tensors[2]
    if roles:
        s[C].roles()
    s[C].cluster(inner)
    if tiles is not None:
        s[C].persistent(tile, tiles)
    return s


@pytest.mark.parametrize("blocks, of, stages, roles, tiles, depth", [
    (2, "rows", 3, False, None, 256), (2, "columns", 3, False, None, 256), (4, "rows", 2, False, None, 128),
    (2, "rows", 3, True, None, 256), (2, "columns", 4, True, None, 192), (4, "rows", 3, True, 2, 128), (2, "rows", 3, False, 3, 192),
])
def test_products_are_what_they_are_without(blocks, of, stages, roles, tiles, depth):
    tensors, a, b = operands(256, 256, depth)
    text = check(by_cluster(tensors, blocks, of, stages, roles, tiles), tensors, a, b)
    assert f"in 0..{blocks} cluster.y:" in text and "tma.multicast" in text and "tma.load" in text
    assert ("mbarrier.arrive.cluster" in text) == roles and "sync block" not in text


def test_rows_that_no_cluster_divides():
    """A block behind the last row brings its part, and stores nothing."""
    tensors, a, b = operands(192, 128, 128)
    assert "tma.multicast" in check(by_cluster(tensors), tensors, a, b)


def test_one_block_is_no_cluster():
    tensors, a, b = operands(128, 64, 128)
    text = check(by_cluster(tensors, blocks=1), tensors, a, b)
    assert "cluster" not in text and "multicast" not in text


def test_boxes_are_parted_as_boxes_may_be():
    """Parts of 8 rows of 128 bytes are the smallest: where 16 rows are for 4 blocks, each copies all of them for itself."""
    tensors, a, b = operands(256, 16, 128)
    with pytest.raises(tw.ScheduleError, match="are not to be parted by 4"):
        by_cluster(tensors, blocks=4, columns=16).check()
    assert "16, 8, 16" not in check(by_cluster(tensors, blocks=2, columns=16), tensors, a, b)


def test_steps_are_written_and_read():
    tensors, _, _ = operands(256, 128, 256)
    s = by_cluster(tensors, roles=True)
    assert "s[C].cluster(ioi)" in s.to_python() and "  cluster" in str(s)
    check_written_and_read(s, tensors)


@needs_fake
def test_by_the_driver():
    run("""
        from test_cluster import by_cluster, operands
        tensors, a, b = operands(256, 128, 256)
        f = tw.build(by_cluster(tensors, roles=True, tiles=3), tensors, target="cuda -arch=sm_90a", name="gemm")
        text = f.source("cuda")
        assert "__cluster_dims__(1, 2, 1)" in text and "cluster_sync();" in text and "grid (3, 2, 1)" in text
        assert "tma_multicast_2d(" in text and ", 3);" in text and "mbarrier_arrive_cluster(" in text
        c = tw.device_array(np.zeros((256, 128), "float32"))
        f(tw.device_array(a), tw.device_array(b), c)
        assert (c.numpy() == a.astype("float32") @ b.astype("float32").T).all()
    """)


@needs_fake
def test_the_compiler_takes_it(tmp_path):
    if not has_nvrtc(tmp_path):
        pytest.skip("skipped: no NVRTC (pip install nvidia-cuda-nvrtc)")
    run("""
        from test_cluster import by_cluster, operands
        tensors, a, b = operands(256, 128, 256)
        for roles in (False, True):
            of, = tw.build(by_cluster(tensors, roles=roles), tensors, target="cuda -arch=sm_90a").resources
            assert of["spill_loads"] == of["spill_stores"] == 0 and not of["warnings"], of
    """, TW_CUDA_IMAGES="")


def test_devices_without_clusters():
    tensors, _, _ = operands(256, 128, 256)
    with pytest.raises(tw.TargetError, match="sm_90"):
        tw.build(by_cluster(tensors), tensors, target="cuda -arch=sm_80")


def test_what_is_refused():
    tensors, _, _ = operands(256, 128, 256)
    s = te.create_schedule(tensors[2])
    i, j = tensors[2].op.axis
    with pytest.raises(tw.ScheduleError, match="cluster: axis must be bound to blocks, and i is not"):
        s[tensors[2]].cluster(i)
    s[tensors[2]].bind(i, X)
    with pytest.raises(tw.ScheduleError, match="at most 8 blocks, a known number, and i has 256"):
        s[tensors[2]].cluster(i)


def test_what_blocks_bring_each_other_is_read_once():
    def sectors(blocks, columns):
        tensors, _, _ = operands(256, columns, 128)
        (launch,) = by_cluster(tensors, blocks=blocks, columns=columns).explain("cuda -arch=sm_90a").launches
        return sum(stage.sectors for stage in launch.stages)

    rows, columns, bytes_of_sector = 256, 64, 32
    saved = 128 * columns * 2 * (rows // 64) / 2 / bytes_of_sector  # half of what each column of blocks reads of the right factor
    assert sectors(1, columns) - sectors(2, columns) == pytest.approx(saved)
    assert sectors(4, 16) == sectors(1, 16)  # 16 rows for 4 blocks have no parts
