"""An HDFS cluster of separate daemons with the plug-ins: one name node, or an active one and a standby."""

import json
import re
import socket
import zlib

from hadoop_daemons import HDFS, PLUGINS, Daemons, bean, fetch, fetch_json, free_ports

POLICY = "org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy"
NAME_NODE = HDFS + "namenode.NameNode"


class Hdfs:
    """Name nodes, of which the first is active, and data nodes that are one tenant each."""

    def __init__(self, cluster: Daemons, nodes: int, name_nodes: int = 1) -> None:
        self.cluster, self.nodes = cluster, nodes
        ports = free_ports(3 * name_nodes)
        self.rpcs, self.webs, self.boards = (ports[index::3] for index in range(3))
        self.active = 0
        rows = ["# hindmost.harvest.tenants/1"]
        rows += [
            f"tenant\tt{index}\te{index}\t{index * 5 % nodes}.0\t0.{index}\t2.0\t0" for index in range(nodes)
        ]
        rows += [f"host\tdn{index}.test\tt{index}" for index in range(nodes)]
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
            self.settings |= self._shared_settings()
        self._run_once("format", 0, "-format", "-nonInteractive")
        self.start_name_node(0)
        for index in range(1, name_nodes):
            self.cluster.await_("the first name node is ready", lambda: self.metric("Fallbacks") == 0)
            self._run_once(f"bootstrap{index}", index, "-bootstrapStandby", "-nonInteractive")
            self.start_name_node(index)
        if name_nodes > 1:
            for index in range(name_nodes):
                self.cluster.await_(f"nn{index} is a standby", lambda index=index: self.is_standby(index))
            self.activate(0)
        for index in range(nodes):
            self.start_data_node(index)

    def _shared_settings(self) -> dict[str, object]:
        """Keys of name nodes with a shared folder of edits; the active one is set by hand, without election."""
        keys: dict[str, object] = {
            "fs.defaultFS": "hdfs://harvest",
            "dfs.nameservices": "harvest",
            "dfs.ha.namenodes.harvest": ",".join(f"nn{index}" for index in range(len(self.webs))),
            "dfs.client.failover.proxy.provider.harvest": "org.apache.hadoop.hdfs.server.namenode.ha."
            "ConfiguredFailoverProxyProvider",
            "dfs.ha.fencing.methods": "shell(/bin/true)",
            "dfs.namenode.shared.edits.dir": f"file://{self.cluster.folder}/edits",
            "dfs.ha.tail-edits.period": 1,
            "ipc.client.connect.max.retries": 1,
        }
        for index, (rpc, web) in enumerate(zip(self.rpcs, self.webs, strict=True)):
            keys[f"dfs.namenode.rpc-address.harvest.nn{index}"] = f"127.0.0.1:{rpc}"
            keys[f"dfs.namenode.http-address.harvest.nn{index}"] = f"127.0.0.1:{web}"
        return keys

    def _name_node_settings(self, index: int) -> dict[str, object]:
        own: dict[str, object] = {
            "dfs.namenode.name.dir": self.cluster.folder / f"name{index}",
            "hindmost.harvest.board.port": self.boards[index],
        }
        if len(self.webs) > 1:
            own["dfs.ha.namenode.id"] = f"nn{index}"
        return {**self.settings, **own}

    def _run_once(self, name: str, index: int, *arguments: str) -> None:
        self.cluster.start(name, NAME_NODE, self._name_node_settings(index), *arguments)
        self.cluster.end(name)

    def start_name_node(self, index: int = 0) -> None:
        self.cluster.start(f"nn{index}", NAME_NODE, self._name_node_settings(index))

    def activate(self, index: int) -> None:
        """Make a name node active, as an operator does who knows that no other one is."""
        self.cluster.start(
            f"active{index}",
            "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
            self.settings,
            "-transitionToActive",
            "--forceactive",
            f"nn{index}",
        )
        self.cluster.end(f"active{index}")
        self.active = index

    def is_standby(self, index: int) -> bool:
        """Whether a name node is a standby, and accepts connections that could activate it."""
        socket.create_connection(("127.0.0.1", self.rpcs[index]), timeout=5).close()
        return bean(self.webs[index], "Hadoop:service=NameNode,name=FSNamesystem")["tag.HAState"] == "standby"

    @property
    def web(self) -> int:
        """The port of the active name node's web interface."""
        return self.webs[self.active]

    def start_data_node(self, index: int) -> None:
        own = {f"dfs.datanode.{kind}address": "127.0.0.1:0" for kind in ("", "http.", "ipc.")}
        own |= {
            "dfs.datanode.hostname": f"dn{index}.test",
            "dfs.datanode.data.dir": f"{self.cluster.folder}/data{index}",
        }
        self.cluster.start(f"dn{index}", HDFS + "datanode.DataNode", {**self.settings, **own})

    def state(self, attribute: str) -> int:
        return bean(self.web, "Hadoop:service=NameNode,name=FSNamesystemState")[attribute]

    def metric(self, attribute: str):
        return bean(self.web, "hindmost:type=Harvest")[attribute]

    def await_live(self) -> None:
        """Wait until all nodes are live and have reported, and the name node has left safe mode."""
        self.cluster.await_("all nodes are live", lambda: self.state("NumLiveDataNodes") == self.nodes)
        self.cluster.await_("all hosts have reported", lambda: self.metric("HeardHosts") == self.nodes)
        name_node = "Hadoop:service=NameNode,name=NameNodeInfo"
        self.cluster.await_("no safe mode", lambda: bean(self.web, name_node)["Safemode"] == "")

    def address(self, path: str, operation: str) -> str:
        return f"http://127.0.0.1:{self.web}/webhdfs/v1{path}?op={operation}&noredirect=true"

    def loopback(self, method: str, path: str, operation: str) -> str:
        """The address to which the name node redirects a client, on the loopback instead of the data node's name."""
        location = json.loads(fetch(self.address(path, operation), method))["Location"]
        return re.sub(r"//dn\d+\.test:", "//127.0.0.1:", location)

    def write(self, path: str) -> set[str]:
        """Write a file with three replicas; returns the hosts that have them."""
        fetch(self.loopback("PUT", path, "CREATE&replication=3&overwrite=true"), "PUT", b"x" * 1000)
        self.cluster.await_("three replicas", lambda: len(self.hosts(path)) == 3)
        return self.hosts(path)

    def hosts(self, path: str) -> set[str]:
        blocks = fetch_json(self.address(path, "GETFILEBLOCKLOCATIONS"))["BlockLocations"]["BlockLocation"]
        return set(blocks[0]["hosts"]) if blocks else set()

    def read(self, path: str) -> bytes:
        return fetch(self.loopback("GET", path, "OPEN"))
