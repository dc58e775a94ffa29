package hindmost.hadoop;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who is busy, as a name node heard it. A datagram a host and period: "HOST BUSY AGE_MS". It is no part of Hadoop's
 * heartbeat, so that nothing of HDFS waits for it; what is too old no longer counts, which leaves stock behaviour.
 */
public final class BusyBoard {
  private static final Logger LOG = LoggerFactory.getLogger(BusyBoard.class);
  private static final BusyBoard ONLY = new BusyBoard();

  private static final class Word {
    final boolean busy;
    /** When it was true, by our clock: the way over the network is not known and taken as nothing. */
    final long since;

    Word(boolean busy, long since) {
      this.busy = busy;
      this.since = since;
    }
  }

  private final Map<String, Word> words = new ConcurrentHashMap<>();
  private volatile long staleNanos = Keys.BOARD_STALE_DEFAULT * 1_000_000L;
  private volatile DatagramSocket socket;

  private BusyBoard() {}

  public static BusyBoard get() {
    return ONLY;
  }

  /** Whether a host's primary tenant is known to be above its reserve. */
  public boolean busy(String host) {
    Word word = words.get(host);
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
    words.put(host, new Word(busy, System.nanoTime() - Math.max(0, ageMillis) * 1_000_000L));
  }

  /** Begins to listen; the port in use. */
  synchronized int listen(int port, int staleMillis) throws IOException {
    staleNanos = staleMillis * 1_000_000L;
    if (socket == null) {
      socket = new DatagramSocket(new InetSocketAddress(port));
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
        String[] of = new String(packet.getData(), 0, packet.getLength(), StandardCharsets.UTF_8).trim().split(" ");
        if (of.length == 3) {
          heard(of[0], of[1].equals("1"), Long.parseLong(of[2]));
        }
      } catch (NumberFormatException error) {
        LOG.debug("a datagram that is no word of a data node", error);
      } catch (IOException error) {
        if (!from.isClosed()) {
          LOG.warn("who is busy cannot be heard", error);
        }
      }
    }
  }
}
