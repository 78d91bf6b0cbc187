import com.nimbusds.jose.EncryptionMethod;
import com.nimbusds.jose.JWEAlgorithm;
import com.nimbusds.jose.JWEHeader;
import com.nimbusds.jose.JWEObject;
import com.nimbusds.jose.Payload;
import com.nimbusds.jose.crypto.ECDHEncrypter;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jose.util.JSONObjectUtils;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Submits one tap as a kernel would (interface 4.4): seals the values of a card with the public key of the gateway, and
 * sends them. Needs Java 17 and com.nimbusds:nimbus-jose-jwt. `TOKEN` is the token of a merchant, and `AMOUNT` the amount in
 * cents; the values are those of a published test card.
 */
public final class Kernel {
  /** What the gateway may know of a tap besides its card: these tags are not sealed. */
  private static final Set<Integer> GENERAL = Set.of(
      0x4F, 0x50, 0x82, 0x84, 0x95, 0x9A, 0x9C, 0x5F25, 0x5F2A, 0x9F02, 0x9F12, 0x9F1A, 0x9F21, 0x9F27, 0x9F36, 0x9F37,
      0xDF8A01, 0xDF8A02, 0xDF8A03, 0xDF8A04);

  /** The test card 4111 1111 1111 1111 and a purchase in ZAR, by tag. */
  private static final String CARD =
      "50=5669736120437265646974 57=4111111111111111D31122010000000000 5F34=01 82=2000 84=A0000000031010 95=0000000000 "
          + "9C=00 5F2A=0710 9F10=06011203A00000 9F1A=0710 9F27=80 9F33=E0F8C8 9F34=1F0302 9F66=36004000 9F6C=3E00 "
          + "9F6E=20700000 DF8A01=73616D706C65 DF8A02=31";

  private static final int GENERAL_DIGEST = 0xDF8A21;
  private static final HexFormat HEX = HexFormat.of();
  private static final String GATEWAY = System.getenv().getOrDefault("GATEWAY", "http://127.0.0.1:8080");
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  public static void main(String[] args) throws Exception {
    String token = System.getenv("TOKEN");
    String device = "kernel-sample";
    String reference = UUID.randomUUID().toString();
    Map<Integer, byte[]> values = readCard(System.getenv("AMOUNT"));

    var general = new ByteArrayOutputStream();
    var secret = new ByteArrayOutputStream();
    for (var each : values.entrySet()) write(GENERAL.contains(each.getKey()) ? general : secret, each.getKey(), each.getValue());
    // Binds the part that is not sealed to the one that is.
    write(secret, GENERAL_DIGEST, MessageDigest.getInstance("SHA-256").digest(general.toByteArray()));

    // The merchant of the token: the tap opens for no other.
    var claims = JSONObjectUtils.parse(new Base64URL(token.split("\\.")[1]).decodeToString());
    var merchant = Map.of("acquirerId", claims.get("acquirerId"), "merchantId", claims.get("sub"));
    String sealed = seal(secret.toByteArray(), device, reference, merchant);

    var body = Map.<String, Object>of(
        "merchantReference", reference,
        "generalCardData", Base64.getEncoder().encodeToString(general.toByteArray()),
        "paymentCardData", Base64.getEncoder().encodeToString(sealed.getBytes(StandardCharsets.UTF_8)));
    var request = HttpRequest.newBuilder(URI.create(GATEWAY + "/transactions/mobile"))
        .header("authorization", "Bearer " + token)
        .header("content-type", "application/json")
        .header("x-device-installation-id", device)
        .POST(HttpRequest.BodyPublishers.ofString(JSONObjectUtils.toJSONString(body)))
        .build();
    var response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.body());
  }

  /** A compact JWE (RFC 7516): ECDH-ES with a new key, A256GCM, bound to the device and the reference by apu and apv. */
  private static String seal(byte[] secret, String device, String reference, Map<String, Object> merchant) throws Exception {
    var keys = URI.create(GATEWAY + "/.well-known/card-data-keys.json").toURL();
    var key = JWKSet.load(keys).getKeys().stream()
        .filter(each -> each.toPublicJWK().toJSONObject().get("crv").equals(Curve.P_256.getName()))
        .findFirst()
        .orElseThrow()
        .toECKey();
    var header = new JWEHeader.Builder(JWEAlgorithm.ECDH_ES, EncryptionMethod.A256GCM)
        .keyID(key.getKeyID())
        .agreementPartyUInfo(Base64URL.encode(device))
        .agreementPartyVInfo(Base64URL.encode(reference))
        .customParam("merchant", merchant)
        .build();
    var jwe = new JWEObject(header, new Payload(secret));
    jwe.encrypt(new ECDHEncrypter(key));
    return jwe.serialize();
  }

  /** BER-TLV (EMV Book 3 Annex B). */
  private static void write(ByteArrayOutputStream out, int tag, byte[] value) {
    String hex = Integer.toHexString(tag);
    out.writeBytes(HEX.parseHex(hex.length() % 2 == 0 ? hex : "0" + hex));
    if (value.length > 0x7F) out.write(0x81); // no value is longer than 255 bytes
    out.write(value.length);
    out.writeBytes(value);
  }

  /** What a real kernel reads from the card. */
  private static Map<Integer, byte[]> readCard(String amountMinor) {
    var values = new TreeMap<Integer, byte[]>();
    for (String each : CARD.split("\\s+")) {
      String[] parts = each.split("=");
      values.put(Integer.parseInt(parts[0], 16), HEX.parseHex(parts[1]));
    }
    var now = LocalDateTime.now(ZoneOffset.UTC);
    values.put(0x9A, HEX.parseHex(now.format(DateTimeFormatter.ofPattern("yyMMdd"))));
    values.put(0x9F21, HEX.parseHex(now.format(DateTimeFormatter.ofPattern("HHmmss"))));
    values.put(0x9F36, randomBytes(2));
    values.put(0x9F37, randomBytes(4));
    values.put(0x9F02, HEX.parseHex("0".repeat(12 - amountMinor.length()) + amountMinor));
    values.put(0x9F26, randomBytes(8)); // a copy of a tap is refused
    return values;
  }

  private static byte[] randomBytes(int count) {
    byte[] bytes = new byte[count];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }
}
