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
 * Who is busy, as a name node heard it. A datagram a host and period: "HOST BUSY AGE_MS SENT_MS MAC". It is no part of
 * Hadoop's heartbeat, so that nothing of HDFS waits for it; what is too old no longer counts, which leaves stock behaviour.
 * The MAC (HMAC-SHA256 with the key of Keys.BOARD_SECRET) covers the rest, and SENT_MS grows, so that nobody else's word
 * counts and none twice. Without a key, only this host is listened to.
 */
public final class BusyBoard {
  private static final Logger LOG = LoggerFactory.getLogger(BusyBoard.class);
  private static final BusyBoard ONLY = new BusyBoard();

  private static final class Word {
    final boolean busy;
    /** When it was true, by our clock: the way over the network is not known and taken as nothing. */
    final long since;
    final long sentMillis;

    Word(boolean busy, long since, long sentMillis) {
      this.busy = busy;
      this.since = since;
      this.sentMillis = sentMillis;
    }
  }

  /** More hosts than a name node serves. */
  static final int MOST_HOSTS = 20_000;
  /** A year. */
  private static final long OLDEST_MILLIS = 365L * 24 * 3600 * 1000;

  private volatile byte[] key = new byte[0];
  private final Map<String, Word> words = new ConcurrentHashMap<>();
  private volatile long staleNanos = Keys.BOARD_STALE_DEFAULT * 1_000_000L;
  private volatile DatagramSocket socket;

  private BusyBoard() {}

  public static BusyBoard get() {
    return ONLY;
  }

  /** Whether a host's primary tenant is known to be above its reserve. */
  public boolean busy(String host) {
    Word word = words.get(HostNames.canonical(host));
    return word != null && word.busy && System.nanoTime() - word.since < staleNanos;
  }

  int busyHosts() {
    return (int) words.keySet().stream().filter(this::busy).count();
  }

  /** Milliseconds since each host's word was true. */
  double[] staleness() {
    return words.values().stream().mapToDouble(word -> (System.nanoTime() - word.since) / 1e6).toArray();
  }

  /** Notes a word. */
  public void heard(String host, boolean busy, long ageMillis) {
    heard(host, busy, ageMillis, Long.MAX_VALUE);
  }

  private void heard(String host, boolean busy, long ageMillis, long sentMillis) {
    String name = HostNames.canonical(host);
    if (words.size() < MOST_HOSTS || words.containsKey(name)) {
      long age = Math.min(Math.max(0, ageMillis), OLDEST_MILLIS);
      words.put(name, new Word(busy, System.nanoTime() - age * 1_000_000L, sentMillis));
    }
  }

  /** A word as it is sent. */
  static byte[] word(String host, boolean busy, long ageMillis, long sentMillis, byte[] key) {
    String said = host + (busy ? " 1 " : " 0 ") + ageMillis + " " + sentMillis;
    return (said + " " + mac(said, key)).getBytes(StandardCharsets.UTF_8);
  }

  /** Notes a word as it was sent, if its sender has the key and it is newer than the last. */
  boolean hear(byte[] datagram, int length) {
    String text = new String(datagram, 0, length, StandardCharsets.UTF_8).trim();
    String[] of = text.split(" ");
    int end = text.lastIndexOf(' ');
    if (of.length != 5 || end < 0 || !MessageDigest.isEqual(of[4].getBytes(StandardCharsets.UTF_8),
        mac(text.substring(0, end), key).getBytes(StandardCharsets.UTF_8))) {
      return false;
    }
    try {
      long age = Long.parseLong(of[2]);
      long sent = Long.parseLong(of[3]);
      Word last = words.get(HostNames.canonical(of[0]));
      if (last != null && last.sentMillis != Long.MAX_VALUE && sent <= last.sentMillis) {
        return false;
      }
      heard(of[0], of[1].equals("1"), age, sent);
      return true;
    } catch (NumberFormatException error) {
      LOG.debug("a datagram that is no word of a data node", error);
      return false;
    }
  }

  /** The key of a configuration; empty where it names none. */
  static byte[] key(Configuration conf) throws IOException {
    String file = conf.getTrimmed(Keys.BOARD_SECRET, "");
    return file.isEmpty() ? new byte[0] : Files.readString(Path.of(file)).trim().getBytes(StandardCharsets.UTF_8);
  }

  private static String mac(String said, byte[] key) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key.length == 0 ? new byte[] {0} : key, "HmacSHA256"));
      StringBuilder text = new StringBuilder();
      for (byte one : mac.doFinal(said.getBytes(StandardCharsets.UTF_8))) {
        text.append(String.format("%02x", one));
      }
      return text.toString();
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error); // every JVM has it
    }
  }

  /** Begins to listen at an address, without a key on this host alone; the port in use. */
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
    words.clear();
  }

  private void receive() {
    DatagramSocket from = socket;
    DatagramPacket packet = new DatagramPacket(new byte[512], 512);
    while (from != null && !from.isClosed()) {
      try {
        packet.setLength(512);
        from.receive(packet);
        hear(packet.getData(), packet.getLength());
      } catch (IOException error) {
        if (!from.isClosed()) {
          LOG.warn("who is busy cannot be heard", error);
        }
      }
    }
  }
}
