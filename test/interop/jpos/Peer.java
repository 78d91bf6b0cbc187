import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.Key;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jpos.iso.*;
import org.jpos.iso.channel.NACChannel;
import org.jpos.iso.channel.PostChannel;
import org.jpos.iso.packager.GenericPackager;
import org.jpos.iso.packager.ISO87BPackager;
import org.jpos.iso.packager.ISO93APackager;
import org.jpos.iso.packager.PostPackager;
import org.jpos.security.*;
import org.jpos.security.jceadapter.JCEHandler;
import org.jpos.security.jceadapter.JCESecurityModule;

/**
 * jPOS as a peer of the tests. It reads one command per line, its words separated by tabs, and prints one line for each.
 * A message is a word for each field, `path=value`; the value is hex, for text the hex of its Latin-1 bytes.
 *
 *   repack TYPE HEX            unpacks a message, builds another one of its values, packs that: hex
 *   fields TYPE HEX            the fields of a message
 *   key TYPE HEX               from now on messages of this type have a MAC by ANSI X9.19 in DE64, and must have
 *   connect TYPE HOST PORT     connects as a client: the name of the connection
 *   send TYPE NAME FIELDS      sends a message and waits for the response: its fields
 *   listen TYPE PORT           starts a switch. It approves what it receives, and does not respond to a sale if DE4
 *   ends with 69
 *   received PORT              the MTIs that the switch received
 *   resource NAME              the content of a file in the jar of jPOS, hex
 *   cryptogram MKD SKD KEY PAN SEQUENCE ATC UN DATA METHOD CODE   the ARQC of a card over DATA, and the ARPC of its issuer
 *   time TYPE HEX              nanoseconds to unpack a message and to pack it: the fastest and the median round of each
 */
public class Peer {
  private static final Map<String, BaseChannel> CLIENTS = new ConcurrentHashMap<>();
  private static final Map<String, List<String>> RECEIVED = new ConcurrentHashMap<>();
  private static final Map<String, ISOPackager> GENERIC = new ConcurrentHashMap<>();
  private static final Map<String, byte[]> MAC_KEYS = new ConcurrentHashMap<>();
  private static final int TIMEOUT_MS = 30_000;
  private static final int WARM_UP_MS = 3_000;
  private static final int ROUND_MS = 20;
  private static final int ROUNDS = 50;
  private static final int MAC_FIELD = 64;
  private static final int MAC_BYTES = 8;

  public static void main(String[] args) throws Exception {
    // jPOS prints to the standard output.
    PrintStream responses = System.out;
    System.setOut(System.err);
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String response;
      try {
        response = "ok\t" + respond(line.split("\t"));
      } catch (Throwable fault) {
        response = "failed\t" + String.valueOf(fault).replaceAll("\\s+", " ");
      }
      responses.println(response);
      responses.flush();
    }
    System.exit(0);
  }

  private static String respond(String[] words) throws Exception {
    switch (words[0]) {
      case "repack":
        return ISOUtil.hexString(repacked(words[1], words[2]));
      case "fields":
        return fieldsOf(unpacked(words[1], words[2]));
      case "key":
        MAC_KEYS.put(words[1], ISOUtil.hex2byte(words[2]));
        return "set";
      case "connect":
        return connect(words[1], words[2], Integer.parseInt(words[3]));
      case "send":
        return send(words[1], CLIENTS.get(words[2]), built(words[1], words, 3));
      case "time":
        return times(words[1], ISOUtil.hex2byte(words[2]));
      case "listen":
        return listen(words[1], Integer.parseInt(words[2]));
      case "resource":
        try (InputStream file = Peer.class.getResourceAsStream("/" + words[1])) {
          return ISOUtil.hexString(file.readAllBytes());
        }
      case "cryptogram":
        return cryptogram(words);
      case "received":
        return String.join(" ", RECEIVED.get(words[1]));
      default:
        throw new IllegalArgumentException(words[0]);
    }
  }

  private static String cryptogram(String[] words) throws Exception {
    ClearModule module = new ClearModule(ISOUtil.hex2byte(words[3]));
    MKDMethod cardKey = MKDMethod.valueOf(words[1]);
    SKDMethod sessionKey = SKDMethod.valueOf(words[2]);
    byte[] atc = ISOUtil.hex2byte(words[6]);
    byte[] number = ISOUtil.hex2byte(words[7]);
    byte[] arqc = module.arqc(cardKey, sessionKey, words[4], words[5], atc, number, ISOUtil.hex2byte(words[8]));
    ARPCMethod method = ARPCMethod.valueOf(words[9]);
    byte[] code = ISOUtil.hex2byte(words[10]);
    byte[] arpc =
        module.generateARPCImpl(
            cardKey, sessionKey, (SecureDESKey) null, words[4], words[5], arqc, atc, number, method, code, null);
    return ISOUtil.hexString(arqc) + "\t" + ISOUtil.hexString(arpc);
  }

  /** The security module of jPOS with one issuer key, in the clear. */
  private static class ClearModule extends JCESecurityModule {
    private final byte[] key;

    ClearModule(byte[] key) throws Exception {
      this.key = key;
      jceHandler = new JCEHandler(Security.getProvider("SunJCE"));
    }

    byte[] arqc(MKDMethod cardKey, SKDMethod sessionKey, String pan, String psn, byte[] atc, byte[] number, byte[] data)
        throws SMException {
      return calculateARQC(cardKey, sessionKey, null, pan, psn, atc, number, data);
    }

    @Override
    protected Key decryptFromLMK(SecureDESKey ignored) {
      byte[] three = Arrays.copyOf(key, 24);
      System.arraycopy(key, 0, three, 16, 8);
      return new SecretKeySpec(three, "DESede");
    }
  }

  /**
   * The packager of a dialect: one that jPOS comes with, changed where the README of the type differs from it. A type
   * such as `jar:packager/iso87ascii.xml` is a file in its jar, and one without `jar:` is a path.
   */
  static ISOPackager packager(String type) throws ISOException {
    if (type.endsWith(".xml")) {
      if (!GENERIC.containsKey(type)) GENERIC.put(type, new GenericPackager(type));
      return GENERIC.get(type);
    }
    switch (type) {
      case "type-1":
        PostPackager packager = new PostPackager();
        for (int number : new int[] {64, 96, 128}) packager.setFieldPackager(number, new IFB_BINARY(8, ""));
        return packager;
      case "type-2":
        return packedPackager();
      case "iso87b":
        return new ISO87BPackager();
      default:
        return packager1993();
    }
  }

  private static ISOPackager packedPackager() {
    ISO87BPackager packager = new ISO87BPackager();
    for (int number : new int[] {2, 35}) {
      int digits = number == 2 ? 19 : 37;
      packager.setFieldPackager(
          number,
          new ISOStringFieldPackager(digits, "", NullPadder.INSTANCE, BCDInterpreter.RIGHT_PADDED_F, BcdPrefixer.LL));
    }
    for (int number : new int[] {32, 33}) packager.setFieldPackager(number, new IFB_LLNUM(11, "", true));
    for (int number : new int[] {49, 50, 51}) packager.setFieldPackager(number, new IFB_NUMERIC(3, "", true));
    packager.setFieldPackager(53, bytes(12, BcdPrefixer.LL));
    packager.setFieldPackager(55, bytes(999, BcdPrefixer.LLL));
    packager.setFieldPackager(56, bytes(10, BcdPrefixer.LLL));
    return packager;
  }

  private static ISOPackager packager1993() {
    ISO93APackager packager = new ISO93APackager();
    for (int number : new int[] {52, 64, 128}) packager.setFieldPackager(number, new IFB_BINARY(8, ""));
    packager.setFieldPackager(53, bytes(48, AsciiPrefixer.LL));
    for (int number : new int[] {55, 96}) packager.setFieldPackager(number, bytes(999, AsciiPrefixer.LLL));
    return packager;
  }

  private static ISOFieldPackager bytes(int max, Prefixer prefixer) {
    return new ISOBinaryFieldPackager(max, "", LiteralBinaryInterpreter.INSTANCE, prefixer);
  }

  private static ISOMsg unpacked(String type, String hex) throws ISOException {
    ISOMsg message = new ISOMsg();
    message.setPackager(packager(type));
    int read = message.unpack(ISOUtil.hex2byte(hex));
    if (read * 2 != hex.length()) throw new ISOException("read " + read + " bytes of " + hex.length() / 2);
    return message;
  }

  private static byte[] repacked(String type, String hex) throws ISOException {
    ISOMsg again = built(type, fieldsOf(unpacked(type, hex)).split("\t"), 0);
    return again.pack();
  }

  private static ISOMsg built(String type, String[] words, int from) throws ISOException {
    ISOMsg message = new ISOMsg();
    message.setPackager(packager(type));
    for (int at = from; at < words.length; at++) {
      String[] parts = words[at].split("=", 2);
      boolean isBinary = parts[0].endsWith("b");
      String path = isBinary ? parts[0].substring(0, parts[0].length() - 1) : parts[0];
      byte[] value = ISOUtil.hex2byte(parts[1]);
      if (isBinary) message.set(path, value);
      else message.set(path, new String(value, StandardCharsets.ISO_8859_1));
    }
    return message;
  }

  /** A binary value has a `b` after its path. */
  private static String fieldsOf(ISOMsg message) throws ISOException {
    Map<String, String> fields = new TreeMap<>();
    collect("", message, fields);
    List<String> words = new ArrayList<>();
    fields.forEach((path, value) -> words.add(path + "=" + value));
    return String.join("\t", words);
  }

  private static void collect(String prefix, ISOMsg message, Map<String, String> fields) throws ISOException {
    for (Object key : message.getChildren().keySet()) {
      int number = (Integer) key;
      if (number < 0) continue; // the bitmap
      ISOComponent field = message.getComponent(number);
      String path = prefix + number;
      if (field instanceof ISOMsg) collect(path + ".", (ISOMsg) field, fields);
      else if (field instanceof ISOBinaryField) fields.put(path + "b", ISOUtil.hexString((byte[]) field.getValue()));
      else fields.put(path, ISOUtil.hexString(field.getValue().toString().getBytes(StandardCharsets.ISO_8859_1)));
    }
  }

  private static BaseChannel channel(String type) throws Exception {
    if (!type.equals("type-2")) return new PostChannel(packager(type));
    return new NACChannel(packager(type), ISOUtil.hex2byte("6000010000"));
  }

  private interface Operation {
    Object run() throws Exception;
  }

  /** Kept, so that no compiler removes unused work. */
  static Object lastResult;

  private static String times(String type, byte[] bytes) throws Exception {
    ISOPackager packager = packager(type);
    ISOMsg message = new ISOMsg();
    message.setPackager(packager);
    message.unpack(bytes);
    String unpacked = timesOf(() -> {
      ISOMsg each = new ISOMsg();
      each.setPackager(packager);
      each.unpack(bytes);
      return each;
    });
    return unpacked + "\t" + timesOf(message::pack);
  }

  private static String timesOf(Operation operation) throws Exception {
    long[] rounds = new long[ROUNDS];
    roundOf(operation, WARM_UP_MS);
    for (int round = 0; round < ROUNDS; round++) rounds[round] = roundOf(operation, ROUND_MS);
    Arrays.sort(rounds);
    return rounds[0] + "\t" + rounds[ROUNDS / 2];
  }

  private static long roundOf(Operation operation, int ms) throws Exception {
    long start = System.nanoTime();
    long done = 0;
    long passed = 0;
    while (passed < ms * 1_000_000L) {
      for (int at = 0; at < 100; at++) lastResult = operation.run();
      done += 100;
      passed = System.nanoTime() - start;
    }
    return passed / done;
  }

  private static String connect(String type, String host, int port) throws Exception {
    BaseChannel client = channel(type);
    client.setHost(host, port);
    client.setTimeout(TIMEOUT_MS);
    client.connect();
    String name = type + "-" + CLIENTS.size();
    CLIENTS.put(name, client);
    return name;
  }

  private static String send(String type, BaseChannel client, ISOMsg message) throws Exception {
    addMac(type, message);
    client.send(message);
    ISOMsg response = client.receive();
    checkMac(type, response);
    return fieldsOf(response);
  }

  private static void addMac(String type, ISOMsg message) throws Exception {
    byte[] key = MAC_KEYS.get(type);
    if (key != null) message.set(MAC_FIELD, macOf(type, message, key));
  }

  private static void checkMac(String type, ISOMsg message) throws Exception {
    byte[] key = MAC_KEYS.get(type);
    if (key == null) return;
    if (!Arrays.equals(macOf(type, message, key), message.getBytes(MAC_FIELD))) throw new ISOException("wrong MAC");
  }

  /** ANSI X9.19 over the message before DE64, zeros to the end of its last block. */
  private static byte[] macOf(String type, ISOMsg message, byte[] key) throws Exception {
    ISOMsg whole = (ISOMsg) message.clone();
    whole.setPackager(packager(type));
    whole.set(MAC_FIELD, new byte[MAC_BYTES]);
    byte[] packed = whole.pack();
    int covered = packed.length - MAC_BYTES;
    byte[] blocks = Arrays.copyOf(Arrays.copyOf(packed, covered), (covered + 7) / 8 * 8);
    Cipher chain = des("DES/CBC/NoPadding", Cipher.ENCRYPT_MODE, key, 0);
    byte[] chained = chain.doFinal(blocks);
    byte[] last = Arrays.copyOfRange(chained, chained.length - 8, chained.length);
    byte[] undone = des("DES/ECB/NoPadding", Cipher.DECRYPT_MODE, key, 8).doFinal(last);
    return des("DES/ECB/NoPadding", Cipher.ENCRYPT_MODE, key, 0).doFinal(undone);
  }

  private static Cipher des(String how, int mode, byte[] key, int from) throws Exception {
    Cipher cipher = Cipher.getInstance(how);
    SecretKeySpec part = new SecretKeySpec(key, from, 8, "DES");
    if (how.contains("CBC")) cipher.init(mode, part, new IvParameterSpec(new byte[8]));
    else cipher.init(mode, part);
    return cipher;
  }

  private static String listen(String type, int port) throws Exception {
    ISOServer server = new ISOServer(port, (ServerChannel) channel(type), null);
    List<String> received = Collections.synchronizedList(new ArrayList<>());
    server.addISORequestListener((source, request) -> respond(type, source, request, received));
    RECEIVED.put(String.valueOf(port), received);
    new Thread(server).start();
    return "listening";
  }

  private static boolean respond(String type, ISOSource source, ISOMsg request, List<String> received) {
    try {
      checkMac(type, request);
      String mti = request.getMTI();
      received.add(mti);
      boolean isReversal = mti.charAt(1) == '4';
      if (!isReversal && request.hasField(4) && request.getString(4).endsWith("69")) return true;
      ISOMsg response = (ISOMsg) request.clone();
      response.setResponseMTI();
      for (int secret : new int[] {2, 14, 35, 45, 52, 53, 55, 56, 64, 90, 95, 123, 127, 128}) response.unset(secret);
      response.set(39, mti.startsWith("1") ? (isReversal ? "400" : mti.charAt(1) == '8' ? "800" : "000") : "00");
      if (!isReversal && mti.charAt(1) != '8') response.set(38, "JP0001");
      addMac(type, response);
      source.send(response);
    } catch (Exception fault) {
      fault.printStackTrace();
    }
    return true;
  }
}
