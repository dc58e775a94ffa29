package hindmost.hadoop;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The busy data nodes, as reported to a name node. Each host sends one datagram per period: "HOST BUSY AGE_MS SENT_MS
 * MAC". Hadoop's heartbeats do not carry it, so no part of HDFS waits for it. Stale reports do not count: then stock
 * behaviour applies. The MAC (HMAC-SHA256 with the key of Keys.BOARD_SECRET) covers the other fields, and SENT_MS must
 * increase, so forged and replayed reports are rejected. Without a key, the board accepts only reports from this host.
 */
public final class BusyBoard {
  private static final Logger LOG = LoggerFactory.getLogger(BusyBoard.class);
  private static final BusyBoard INSTANCE = new BusyBoard();

  private static final class Report {
    final boolean busy;
    /** Local time at which the report was true: the network delay is unknown and counts as zero. */
    final long since;
    final long sentMillis;

    Report(boolean busy, long since, long sentMillis) {
      this.busy = busy;
      this.since = since;
      this.sentMillis = sentMillis;
    }
  }

  /** More hosts than one name node serves. */
  static final int MOST_HOSTS = 20_000;
  /** One year. */
  private static final long OLDEST_MILLIS = 365L * 24 * 3600 * 1000;

  private volatile byte[] key = new byte[0];
  private final Map<String, Report> reports = new ConcurrentHashMap<>();
  private volatile long staleNanos = Keys.BOARD_STALE_DEFAULT * 1_000_000L;
  private volatile DatagramSocket socket;

  private BusyBoard() {}

  public static BusyBoard get() {
    return INSTANCE;
  }

  /** Whether a host's primary tenant is known to be above its reserve. */
  public boolean busy(String host) {
    Report report = reports.get(HostNames.canonical(host));
    return report != null && report.busy && System.nanoTime() - report.since < staleNanos;
  }

  int busyHosts() {
    return (int) reports.keySet().stream().filter(this::busy).count();
  }

  /** Return the age of each host's report, in milliseconds. */
  double[] staleness() {
    return reports.values().stream().mapToDouble(report -> (System.nanoTime() - report.since) / 1e6).toArray();
  }

  /** Record a report. */
  public void add(String host, boolean busy, long ageMillis) {
    add(host, busy, ageMillis, Long.MAX_VALUE);
  }

  private void add(String host, boolean busy, long ageMillis, long sentMillis) {
    String name = HostNames.canonical(host);
    if (reports.size() < MOST_HOSTS || reports.containsKey(name)) {
      long age = Math.min(Math.max(0, ageMillis), OLDEST_MILLIS);
      reports.put(name, new Report(busy, System.nanoTime() - age * 1_000_000L, sentMillis));
    }
  }

  /** Encode a report as a datagram. */
  static byte[] encode(String host, boolean busy, long ageMillis, long sentMillis, byte[] key) {
    String text = host + (busy ? " 1 " : " 0 ") + ageMillis + " " + sentMillis;
    return (text + " " + mac(text, key)).getBytes(StandardCharsets.UTF_8);
  }

  /** Record a received report if its sender has the key and it is newer than the last one. */
  boolean accept(byte[] datagram, int length) {
    String text = new String(datagram, 0, length, StandardCharsets.UTF_8).trim();
    String[] fields = text.split(" ");
    int end = text.lastIndexOf(' ');
    if (fields.length != 5 || end < 0 || !MessageDigest.isEqual(fields[4].getBytes(StandardCharsets.UTF_8),
        mac(text.substring(0, end), key).getBytes(StandardCharsets.UTF_8))) {
      return false;
    }
    try {
      long age = Long.parseLong(fields[2]);
      long sent = Long.parseLong(fields[3]);
      Report last = reports.get(HostNames.canonical(fields[0]));
      if (last != null && last.sentMillis != Long.MAX_VALUE && sent <= last.sentMillis) {
        return false;
      }
      add(fields[0], fields[1].equals("1"), age, sent);
      return true;
    } catch (NumberFormatException error) {
      LOG.debug("a datagram is not a report of a data node", error);
      return false;
    }
  }

  /** Return the configured key; empty if no key is configured. */
  static byte[] key(Configuration conf) throws IOException {
    String file = conf.getTrimmed(Keys.BOARD_SECRET, "");
    return file.isEmpty() ? new byte[0] : Files.readString(Path.of(file)).trim().getBytes(StandardCharsets.UTF_8);
  }

  private static String mac(String message, byte[] key) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key.length == 0 ? new byte[] {0} : key, "HmacSHA256"));
      StringBuilder text = new StringBuilder();
      for (byte octet : mac.doFinal(message.getBytes(StandardCharsets.UTF_8))) {
        text.append(String.format("%02x", octet));
      }
      return text.toString();
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error); // every JVM has it
    }
  }

  /** Listen at an address (without a key, only at the loopback address) and return the port. */
  synchronized int listen(InetAddress address, int port, int staleMillis, byte[] key) throws IOException {
    staleNanos = staleMillis * 1_000_000L;
    this.key = key;
    if (socket == null) {
      InetAddress at = key.length == 0 || address == null ? InetAddress.getLoopbackAddress() : address;
      socket = new DatagramSocket(new InetSocketAddress(at, port));
      Thread thread = new Thread(this::receive, "hindmost-busy-board");
      thread.setDaemon(true);
      thread.start();
    }
    return socket.getLocalPort();
  }

  synchronized void close() {
    if (socket != null) {
      socket.close();
      socket = null;
    }
    reports.clear();
  }

  private void receive() {
    DatagramSocket current = socket;
    DatagramPacket packet = new DatagramPacket(new byte[512], 512);
    while (current != null && !current.isClosed()) {
      try {
        packet.setLength(512);
        current.receive(packet);
        accept(packet.getData(), packet.getLength());
      } catch (IOException error) {
        if (!current.isClosed()) {
          LOG.warn("reports of data nodes cannot be received", error);
        }
      }
    }
  }
}
