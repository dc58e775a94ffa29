package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The tenants in force: read anew when their file changes, the last good ones kept when it cannot be read. */
public final class Tenants {
  private static final Logger LOG = LoggerFactory.getLogger(Tenants.class);

  /** One reading of the file, with the placer made of it. */
  public static final class State {
    public final TenantsFile file;
    public final Placer placer;

    State(TenantsFile file, Placer placer) {
      this.file = file;
      this.placer = placer;
    }

    /** The number of a host by the first of its names that is known; null is no name; -1 of an unknown host. */
    public int server(String... names) {
      int found = -1;
      for (int at = 0; at < names.length && found < 0; at++) {
        found = names[at] == null ? -1 : file.names.number(names[at]);
      }
      return found;
    }

    /** Notes the hosts of the cluster that the file does not have: placement and scheduling know nothing of them. */
    public void noteUnknown(List<String> hosts) {
      if (hosts.size() != Metrics.get().getUnknownHosts() && !hosts.isEmpty()) {
        LOG.warn("the file of tenants does not have {} hosts of the cluster, such as {}", hosts.size(), hosts.get(0));
      }
      Metrics.get().unknownHosts = hosts.size();
    }

    /** How a host's class uses its servers; null where nobody knows. */
    public Selector.Room room(String host) {
      int tenant = placer.tenantOf(server(host));
      return tenant < 0 ? null : file.classes.get(file.tenants.get(tenant).utilisationClass);
    }
  }

  private final Path path;
  private final long periodNanos;
  private final Configuration conf;
  private volatile State state;
  private FileTime read = FileTime.fromMillis(-1);
  private volatile long looked = Long.MIN_VALUE;

  public Tenants(Configuration conf) {
    this.conf = conf;
    String name = conf.getTrimmed(Keys.TENANTS_FILE, "");
    path = name.isEmpty() ? null : Path.of(name);
    periodNanos = conf.getInt(Keys.TENANTS_PERIOD, Keys.TENANTS_PERIOD_DEFAULT) * 1_000_000L;
    state();
  }

  /** What is in force; null where nothing good was ever read, which means stock behaviour. */
  public State state() {
    long now = System.nanoTime();
    if (path != null && (looked == Long.MIN_VALUE || now - looked > periodNanos)) {
      look(now);
    }
    return state;
  }

  private synchronized void look(long now) {
    if (looked != Long.MIN_VALUE && now - looked <= periodNanos) {
      return;
    }
    looked = now;
    try {
      FileTime changed = Files.getLastModifiedTime(path);
      if (changed.equals(read)) {
        return;
      }
      TenantsFile file = TenantsFile.read(path);
      Placer.Weigh weigh = Placer.Weigh.valueOf(conf.getTrimmed(Keys.WEIGH, "tenants").toUpperCase());
      Placer.Repair repair = Placer.Repair.valueOf(conf.getTrimmed(Keys.REPAIR, "row").toUpperCase());
      state = new State(file, new Placer(file.tenants, weigh, repair, conf.getBoolean(Keys.SOFT, true)));
      read = changed;
      Metrics.get().tenantsRead(changed.toMillis());
      LOG.info("{}: {} tenants, {} hosts", path, file.tenants.size(), file.hosts.size());
    } catch (IOException | IllegalArgumentException error) {
      Metrics.get().tenantsUnreadable.increment();
      LOG.warn("{} cannot be used, {}: {}", path, state == null ? "placement is stock's" : "the last good one is kept",
          error.toString());
    }
  }
}
