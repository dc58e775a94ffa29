package hindmost.hadoop;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Monitors the primary tenant's utilisation on one host, and reports to the name nodes whether it needs its reserve.
 */
public final class BusyMonitor {
  private static final Logger LOG = LoggerFactory.getLogger(BusyMonitor.class);
  private static final Map<String, BusyMonitor> BY_HOST = new ConcurrentHashMap<>();

  private final String host;
  private final String pattern;
  private final double above;
  private final int periodMillis;
  private final String[] addresses;
  private final Configuration conf;
  private final Thread thread;
  private volatile boolean busy;
  private volatile boolean stopped;
  private long lastBusyTicks = -1;
  private long lastTicks;

  private BusyMonitor(String host, Configuration conf) {
    this.host = host;
    this.conf = conf;
    pattern = conf.getTrimmed(Keys.UTILISATION_FILE, "");
    above = conf.getDouble(Keys.BUSY_ABOVE, Keys.BUSY_ABOVE_DEFAULT);
    periodMillis = conf.getInt(Keys.BUSY_PERIOD, Keys.BUSY_PERIOD_DEFAULT);
    addresses = conf.getTrimmedStrings(Keys.BOARD_ADDRESSES);
    thread = new Thread(this::run, "hindmost-busy-monitor " + host);
    thread.setDaemon(true);
    thread.start();
  }

  /** Return the monitor of a host; the first call starts it. */
  public static BusyMonitor forHost(String host, Configuration conf) {
    return BY_HOST.computeIfAbsent(host, name -> new BusyMonitor(name, conf));
  }

  static void stop(String host) {
    BusyMonitor monitor = BY_HOST.remove(host);
    if (monitor != null) {
      monitor.stopped = true;
      monitor.thread.interrupt();
    }
  }

  public boolean busy() {
    return busy;
  }

  private void run() {
    try (DatagramSocket socket = new DatagramSocket()) {
      while (!stopped) {
        long updated = System.nanoTime();
        update();
        for (String address : addresses) {
          report(socket, address, updated);
        }
        Thread.sleep(periodMillis);
      }
    } catch (InterruptedException end) {
      Thread.currentThread().interrupt();
    } catch (IOException error) {
      LOG.warn("the name nodes cannot be informed about {}", host, error);
    }
  }

  /** Read the utilisation. Unreadable utilisation means not busy, so data stays reachable. */
  private void update() {
    double utilisation = 0;
    try {
      utilisation = pattern.isEmpty() ? hostUtilisation() : Utilisation.read(pattern, host).cores;
    } catch (IOException | NumberFormatException error) { // /proc/stat gives the latter
      LOG.debug("utilisation of {} cannot be read", host, error);
    }
    busy = utilisation > above;
  }

  /** Return the share of time that processors worked since the last call; this includes batch work. */
  private double hostUtilisation() throws IOException {
    String[] fields = Files.readString(Path.of("/proc/stat")).split("\n", 2)[0].trim().split("\\s+");
    long all = 0;
    for (int at = 1; at <= Math.min(8, fields.length - 1); at++) {
      all += Long.parseLong(fields[at]);
    }
    long working = all - Long.parseLong(fields[4]) - Long.parseLong(fields[5]);
    double share = lastBusyTicks < 0 || all == lastTicks ? 0 : (double) (working - lastBusyTicks) / (all - lastTicks);
    lastBusyTicks = working;
    lastTicks = all;
    return share;
  }

  private void report(DatagramSocket socket, String address, long updated) {
    int colon = address.lastIndexOf(':');
    long age = (System.nanoTime() - updated) / 1_000_000;
    try {
      boolean reported = busy && BusyDatasetFactory.reportsBusy();
      byte[] datagram = BusyBoard.encode(host, reported, age, System.currentTimeMillis(), BusyBoard.key(conf));
      InetSocketAddress to =
          new InetSocketAddress(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
      socket.send(new DatagramPacket(datagram, datagram.length, to));
    } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException error) {
      LOG.debug("{} cannot be informed about {}", address, host, error);
    }
  }
}
