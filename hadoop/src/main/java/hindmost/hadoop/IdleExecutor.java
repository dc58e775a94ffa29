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
 * Containers begin in a control group that the kernel runs only while nobody else wants the processor:
 * yarn.nodemanager.container-executor.class, with the group's folder in hindmost.harvest.cgroup.
 *
 * Priorities of threads do not do that. Each container is a session of its own, and where the kernel has
 * sched_autogroup_enabled a session's share is that of any other, whatever the niceness inside (man 7 sched).
 */
public final class IdleExecutor extends DefaultContainerExecutor {
  /** $0 is the group, the rest stock's command. What cannot be held back beside a primary tenant does not begin. */
  private static final String JOIN = "echo $$ >\"$0/cgroup.procs\" || exit 1; exec \"$@\"";

  private Path group;

  @Override public void init(Context context) throws IOException {
    super.init(context);
    String name = getConf().getTrimmed(Keys.CGROUP, "");
    if (name.isEmpty()) {
      throw new IOException(Keys.CGROUP + " is not set: which control group is batch work's?");
    }
    group = Path.of(name);
    Path idle = group.resolve("cpu.idle");
    boolean made = Files.notExists(group);
    if (made) {
      Files.createDirectory(group);
    }
    if (!Files.exists(idle)) {
      if (made) {
        Files.delete(group);
      }
      throw new IOException(idle + " is not there: this takes the cpu controller, in " + group.getParent()
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
