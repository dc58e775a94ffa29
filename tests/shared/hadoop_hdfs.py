"""A cluster of HDFS from daemons of its own, with the plug-ins: one name node, or two of which one stands by."""

import json
import re
import socket
import zlib

from hadoop_daemons import HDFS, PLUGINS, Daemons, asked, bean, found, free_ports

POLICY = "org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy"
NAME_NODE = HDFS + "namenode.NameNode"


class Hdfs:
    """Name nodes, of which the first is active, and data nodes that are a tenant each."""

    def __init__(self, cluster: Daemons, nodes: int, name_nodes: int = 1) -> None:
        self.cluster, self.nodes = cluster, nodes
        ports = free_ports(3 * name_nodes)
        self.rpcs, self.webs, self.boards = (ports[at::3] for at in range(3))
        self.active = 0
        rows = ["# hindmost.harvest.tenants/1"]
        rows += [f"tenant\tt{at}\te{at}\t{at * 5 % nodes}.0\t0.{at}\t2.0\t0" for at in range(nodes)]
        rows += [f"host\tdn{at}.test\tt{at}" for at in range(nodes)]
        text = "\n".join(rows) + "\n"
        (cluster.folder / "tenants.tsv").write_text(f"{text}end\t{zlib.crc32(text.encode()):08x}\n")
        self.settings: dict[str, object] = {
            "hadoop.tmp.dir": cluster.folder,
            "dfs.block.replicator.classname": POLICY,
            "dfs.net.topology.impl": f"{PLUGINS}.BusyTopology",
            "dfs.datanode.fsdataset.factory": f"{PLUGINS}.BusyDatasetFactory",
            "dfs.namenode.plugins": f"{PLUGINS}.NameNodePlugin",
            "hindmost.harvest.tenants.file": cluster.folder / "tenants.tsv",
            "hindmost.harvest.utilisation.file": cluster.folder / "%h.load",
            "hindmost.harvest.busy.period.ms": 200,
            "hindmost.harvest.board.addresses": ",".join(f"127.0.0.1:{port}" for port in self.boards),
            "dfs.heartbeat.interval": 1,
            "dfs.namenode.heartbeat.recheck-interval": 1000,
            "dfs.namenode.redundancy.considerLoad": "false",
            "dfs.namenode.safemode.extension": 0,
            "dfs.client.retry.window.base": 200,
            "dfs.permissions.enabled": "false",
        }
        if name_nodes == 1:
            self.settings |= {
                "fs.defaultFS": f"hdfs://127.0.0.1:{self.rpcs[0]}",
                "dfs.namenode.http-address": f"127.0.0.1:{self.webs[0]}",
            }
        else:
            self.settings |= self._shared()
        self._once("format", 0, "-format", "-nonInteractive")
        self.start_name_node(0)
        for at in range(1, name_nodes):
            self.cluster.await_("the first is there", lambda: self.metric("Fallbacks") == 0)
            self._once(f"bootstrap{at}", at, "-bootstrapStandby", "-nonInteractive")
            self.start_name_node(at)
        if name_nodes > 1:
            for at in range(name_nodes):
                self.cluster.await_(f"nn{at} is a standby", lambda at=at: self.stands_by(at))
            self.activate(0)
        for at in range(nodes):
            self.start_data_node(at)

    def _shared(self) -> dict[str, object]:
        """Keys of name nodes with one folder of edits: who is active is said by hand, nobody elects."""
        keys: dict[str, object] = {
            "fs.defaultFS": "hdfs://harvest",
            "dfs.nameservices": "harvest",
            "dfs.ha.namenodes.harvest": ",".join(f"nn{at}" for at in range(len(self.webs))),
            "dfs.client.failover.proxy.provider.harvest": "org.apache.hadoop.hdfs.server.namenode.ha."
            "ConfiguredFailoverProxyProvider",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.namenode.shared.edits.dir": f"file://{self.cluster.folder}/edits",
            "dfs.ha.tail-edits.period": 1,
            "ipc.client.connect.max.retries": 1,
        }
        for at, (rpc, web) in enumerate(zip(self.rpcs, self.webs, strict=True)):
            keys[f"dfs.namenode.rpc-address.harvest.nn{at}"] = f"127.0.0.1:{rpc}"
            keys[f"dfs.namenode.http-address.harvest.nn{at}"] = f"127.0.0.1:{web}"
        return keys

    def _of_name_node(self, at: int) -> dict[str, object]:
        own: dict[str, object] = {
            "dfs.namenode.name.dir": self.cluster.folder / f"name{at}",
            "hindmost.harvest.board.port": self.boards[at],
        }
        if len(self.webs) > 1:
            own["dfs.ha.namenode.id"] = f"nn{at}"
        return {**self.settings, **own}

    def _once(self, name: str, at: int, *arguments: str) -> None:
        self.cluster.start(name, NAME_NODE, self._of_name_node(at), *arguments)
        self.cluster.end(name)

    def start_name_node(self, at: int = 0) -> None:
        self.cluster.start(f"nn{at}", NAME_NODE, self._of_name_node(at))

    def activate(self, at: int) -> None:
        """Has a name node take over, as an operator does who knows that no other one serves."""
        self.cluster.start(
            f"active{at}",
            "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
            self.settings,
            "-transitionToActive",
            "--forceactive",
            f"nn{at}",
        )
        self.cluster.end(f"active{at}")
        self.active = at

    def stands_by(self, at: int) -> bool:
        """Whether a name node is there as one that serves nobody, and answers who would have it serve."""
        socket.create_connection(("127.0.0.1", self.rpcs[at]), timeout=5).close()
        return bean(self.webs[at], "Hadoop:service=NameNode,name=FSNamesystem")["tag.HAState"] == "standby"

    @property
    def web(self) -> int:
        """The port of the active name node's pages."""
        return self.webs[self.active]

    def start_data_node(self, at: int) -> None:
        own = {f"dfs.datanode.{kind}address": "127.0.0.1:0" for kind in ("", "http.", "ipc.")}
        own |= {
            "dfs.datanode.hostname": f"dn{at}.test",
            "dfs.datanode.data.dir": f"{self.cluster.folder}/data{at}",
        }
        self.cluster.start(f"dn{at}", HDFS + "datanode.DataNode", {**self.settings, **own})

    def state(self, attribute: str) -> int:
        return bean(self.web, "Hadoop:service=NameNode,name=FSNamesystemState")[attribute]

    def metric(self, attribute: str):
        return bean(self.web, "hindmost:type=Harvest")[attribute]

    def await_live(self) -> None:
        """All nodes live and heard of, and the name node out of its safe mode."""
        self.cluster.await_("all nodes are live", lambda: self.state("NumLiveDataNodes") == self.nodes)
        self.cluster.await_("who is busy is heard", lambda: self.metric("HeardHosts") == self.nodes)
        name_node = "Hadoop:service=NameNode,name=NameNodeInfo"
        self.cluster.await_("no safe mode", lambda: bean(self.web, name_node)["Safemode"] == "")

    def address(self, path: str, operation: str) -> str:
        return f"http://127.0.0.1:{self.web}/webhdfs/v1{path}?op={operation}&noredirect=true"

    def loopback(self, method: str, path: str, operation: str) -> str:
        """Where the name node sends a client, by the loopback instead of the data node's name."""
        to = json.loads(asked(self.address(path, operation), method))["Location"]
        return re.sub(r"//dn\d+\.test:", "//127.0.0.1:", to)

    def write(self, path: str) -> set[str]:
        """Writes a file of three replicas; the hosts that have them."""
        asked(self.loopback("PUT", path, "CREATE&replication=3&overwrite=true"), "PUT", b"x" * 1000)
        self.cluster.await_("three replicas", lambda: len(self.hosts(path)) == 3)
        return self.hosts(path)

    def hosts(self, path: str) -> set[str]:
        blocks = found(self.address(path, "GETFILEBLOCKLOCATIONS"))["BlockLocations"]["BlockLocation"]
        return set(blocks[0]["hosts"]) if blocks else set()

    def read(self, path: str) -> bytes:
        return asked(self.loopback("GET", path, "OPEN"))
