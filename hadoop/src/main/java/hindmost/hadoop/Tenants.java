package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The tenants in force: reloaded when their file changes; the last good ones stay if it cannot be read. */
public final class Tenants {
  private static final Logger LOG = LoggerFactory.getLogger(Tenants.class);

  /** One version of the file, with its placer. */
  public static final class State {
    public final TenantsFile file;
    public final Placer placer;

    State(TenantsFile file, Placer placer) {
      this.file = file;
      this.placer = placer;
    }

    /** Return the number of a host by its first known name (a name may be null); -1 for an unknown host. */
    public int server(String... names) {
      int found = -1;
      for (int at = 0; at < names.length && found < 0; at++) {
        found = names[at] == null ? -1 : file.names.number(names[at]);
      }
      return found;
    }

    /** Record the hosts of the cluster that are missing in the file: stock places and schedules them. */
    public void noteUnknown(List<String> hosts) {
      if (hosts.size() != Metrics.get().getUnknownHosts() && !hosts.isEmpty()) {
        LOG.warn("{} hosts of the cluster are not in the file of tenants, such as {}", hosts.size(), hosts.get(0));
      }
      Metrics.get().unknownHosts = hosts.size();
    }

    /** Return the state of a host's class; null if it is unknown. */
    public Selector.ClassState classState(String host) {
      int tenant = placer.tenantOf(server(host));
      return tenant < 0 ? null : file.classes.get(file.tenants.get(tenant).utilisationClass);
    }
  }

  private final Path path;
  private final long periodNanos;
  private final Configuration conf;
  private volatile State state;
  private FileTime loadedVersion = FileTime.fromMillis(-1);
  private volatile long checkedAt = Long.MIN_VALUE;

  public Tenants(Configuration conf) {
    this.conf = conf;
    String name = conf.getTrimmed(Keys.TENANTS_FILE, "");
    path = name.isEmpty() ? null : Path.of(name);
    periodNanos = conf.getInt(Keys.TENANTS_PERIOD, Keys.TENANTS_PERIOD_DEFAULT) * 1_000_000L;
    state();
  }

  /** Return the tenants in force; null if no good file was read yet, which means stock behaviour. */
  public State state() {
    long now = System.nanoTime();
    if (path != null && (checkedAt == Long.MIN_VALUE || now - checkedAt > periodNanos)) {
      reload(now);
    }
    return state;
  }

  private synchronized void reload(long now) {
    if (checkedAt != Long.MIN_VALUE && now - checkedAt <= periodNanos) {
      return;
    }
    checkedAt = now;
    try {
      FileTime changed = Files.getLastModifiedTime(path);
      if (changed.equals(loadedVersion)) {
        return;
      }
      TenantsFile file = TenantsFile.read(path);
      Placer.Weigh weigh = Placer.Weigh.valueOf(conf.getTrimmed(Keys.WEIGH, "tenants").toUpperCase());
      Placer.Repair repair = Placer.Repair.valueOf(conf.getTrimmed(Keys.REPAIR, "row").toUpperCase());
      state = new State(file, new Placer(file.tenants, weigh, repair, conf.getBoolean(Keys.SOFT, true)));
      loadedVersion = changed;
      Metrics.get().recordTenants(changed.toMillis());
      LOG.info("{}: {} tenants, {} hosts", path, file.tenants.size(), file.hosts.size());
    } catch (IOException | IllegalArgumentException error) {
      Metrics.get().tenantsUnreadable.increment();
      LOG.warn("{} cannot be used, {}: {}", path, state == null ? "stock places blocks" : "the last good one is kept",
          error.toString());
    }
  }
}
