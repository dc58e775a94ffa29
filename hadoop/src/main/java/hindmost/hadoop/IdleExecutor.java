package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor;

/**
 * Starts containers in a control group that runs only on idle CPU time: yarn.nodemanager.container-executor.class. The
 * folder of the group is in hindmost.harvest.cgroup.
 *
 * Thread priorities do not suffice. Each container is its own session, and with sched_autogroup_enabled the kernel
 * gives all sessions equal shares, whatever the niceness inside (man 7 sched).
 */
public final class IdleExecutor extends DefaultContainerExecutor {
  /** $0 is the group, the rest is stock's command. A container that cannot join the group does not start. */
  private static final String JOIN = "echo $$ >\"$0/cgroup.procs\" || exit 1; exec \"$@\"";

  private Path group;

  @Override public void init(Context context) throws IOException {
    super.init(context);
    String name = getConf().getTrimmed(Keys.CGROUP, "");
    if (name.isEmpty()) {
      throw new IOException(Keys.CGROUP + " is not set: name the control group of batch work");
    }
    group = Path.of(name);
    Path idle = group.resolve("cpu.idle");
    boolean created = Files.notExists(group);
    if (created) {
      Files.createDirectory(group);
    }
    if (!Files.exists(idle)) {
      if (created) {
        Files.delete(group);
      }
      throw new IOException(idle + " does not exist: it needs the cpu controller in " + group.getParent()
          + "/cgroup.subtree_control under version 2, and Linux 5.15");
    }
    if (!Files.readString(idle).trim().equals("1")) {
      Files.writeString(idle, "1\n");
    }
  }

  @Override protected String[] getRunCommand(String command, String groupId, String userName,
      org.apache.hadoop.fs.Path pidFile, Configuration conf, Resource resource) {
    Stream<String> join = Stream.of("bash", "-c", JOIN, group.toString());
    String[] stock = super.getRunCommand(command, groupId, userName, pidFile, conf, resource);
    return Stream.concat(join, Stream.of(stock)).toArray(String[]::new);
  }
}
