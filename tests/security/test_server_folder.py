"""A server that root starts as another user: root owns its folder until it is complete, and no link leads out of it."""

from __future__ import annotations

import os
import pwd
import secrets
import stat
import time
from pathlib import Path

import pytest

from hindmost.core.targets import ManagedServer
from hindmost.core.targets.guard import give_away
from hindmost.core.targets.launch import choose_folder, prepare
from hindmost.core.targets.spec import parse_target_toml
from hindmost.core.targets.users import DYNAMIC_IDS, account
from hindmost.core.targets.warden import Warden

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start servers as other users")

SERVER = '''
name = "hostile"
protocol = "http"
command = ["sh", "{dir}/serve.sh", "{port}"]
user_if_root = "dynamic"
[ready]
kind = "command"
command = ["true"]
[files]
"sub/secret" = "password"
"serve.sh" = """
ln -sf /etc/shadow server.log
ln -sf /etc/shadow sub/secret
sleep 0.2
exit 3
"""
'''


@pytest.fixture
def spec(tmp_path):
    return parse_target_toml(SERVER, "hostile", tmp_path)


def test_root_owns_the_folder_until_its_files_are_written(spec):
    user = account(spec)
    assert user is not None
    folder = choose_folder(spec, user)
    warden = Warden(folder)
    try:
        top = Path(folder.path)
        assert (top.stat().st_uid, stat.S_IMODE(top.stat().st_mode)) == (0, 0o700)
        launch = prepare(spec, top, user, cpus=None, port=1, log=None)
        assert {path.lstat().st_uid for path in (top, *top.rglob("*"))} == {0}
        warden.launch(launch.request)
        assert {path.lstat().st_uid for path in (top, *top.rglob("*"))} >= {user.uid}
        assert top.stat().st_uid == user.uid
    finally:
        warden.stop(patiently=False)
    assert not top.exists()


def test_no_two_servers_share_a_user(spec):
    first, second = account(spec), account(spec)
    assert first is not None
    assert second is not None
    assert first.uid != second.uid or DYNAMIC_IDS.stop - DYNAMIC_IDS.start < 100
    for user in (first, second):
        assert user.uid in DYNAMIC_IDS
        with pytest.raises(KeyError):
            pwd.getpwuid(user.uid)


def test_a_log_that_was_replaced_by_a_link_is_not_read(spec):
    before = Path("/etc/shadow").stat()
    secret = Path("/etc/shadow").read_text().splitlines()[0]
    server = ManagedServer(spec)
    with server:
        while server.alive():
            time.sleep(0.01)
        report = server.exit_report()
    assert report is not None
    assert secret not in report.log
    after = Path("/etc/shadow").stat()
    assert (before.st_uid, before.st_mode) == (after.st_uid, after.st_mode)


def test_changing_the_owner_follows_no_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("root's")
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "file").symlink_to(outside / "file")
    (folder / "linked").symlink_to(outside)
    uid = DYNAMIC_IDS.start + secrets.randbelow(1_000)
    give_away(str(folder), uid, uid)
    assert {path.lstat().st_uid for path in (outside, outside / "file")} == {0}
    inside = [folder, folder / "below", folder / "below" / "file", folder / "linked"]
    assert {path.lstat().st_uid for path in inside} == {uid}
