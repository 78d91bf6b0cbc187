/**
 * Examples in the help of commands whose arguments need one, by command. Values are those of the demo or of
 * `src/cli/README.md`.
 */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  demo: ['tapwire demo', 'tapwire demo --stay --manners poor --seed 7'],
  tap: [
    'tapwire tap --amount 10.00',
    'tapwire tap --amount 10.51 --card mastercard        declined',
    'tapwire tap --amount 50.05 --pin 12345              the switch requests a PIN',
  ],
  link: ['tapwire link --amount 10.00', 'tapwire link --amount 1250 --currency JPY --reference order-17'],
  trigger: ['tapwire trigger approved', 'tapwire trigger declined --code 54', 'tapwire trigger timeout'],
  'webhooks listen': [
    'tapwire webhooks listen --forward-to http://127.0.0.1:3000/webhooks',
    'tapwire webhooks listen --forward-to http://127.0.0.1:3000/webhooks --all',
  ],
  start: ['tapwire start', 'tapwire start --role api --processes 2'],
  jobs: ['tapwire jobs', 'tapwire jobs dead-letters list --json', 'tapwire jobs dead-letters redrive --queue webhook'],
  audit: [
    'tapwire audit --acquirer 1',
    'tapwire audit verify --json > heads.json',
    'tapwire audit verify --heads heads.json',
  ],
  'hsm import': [
    'tapwire hsm import --key acquirer/1/pin-2 --usage pin --under acquirer/1/kbpk --kcv 08D7B4 block.txt',
    'tapwire hsm import --key acquirer/1/zmk --usage keyEncryption --under-lmk --kcv 08D7B4 zmk.txt',
    'tapwire hsm import --key acquirer/1/zmk --usage keyEncryption --components --kcv 08D7B4',
  ],
  'hsm rotate': ['tapwire hsm rotate --successor acquirer/1/mac-2 --overlap 14d acquirer/1/mac-1'],
  'hsm retire': ['tapwire hsm retire acquirer/1/mac-1'],
  'cell add': [
    'tapwire cell add --name a --url https://a.internal --database env:CELL_A_DATABASE_URL',
    'tapwire cell add --name b --url https://b.internal --database file:/run/secrets/b --backend cell-b',
  ],
  'cell move': ['tapwire cell move --acquirer 7 --to b', 'tapwire cell move --acquirer 7 --to b --undo'],
  'cell recover': ['tapwire cell recover --acquirer 7 --in a --lost b'],
  'acquirer add': ["tapwire acquirer add --name 'First Bank'"],
  'merchant add': [
    `tapwire merchant add --acquirer 1 --integrator 1 --id 1001 --name 'Corner Coffee' --mcc 5814 \\
      --street '1 Long Street' --city 'Cape Town' --country ZA --currency ZAR --time-zone Africa/Johannesburg`,
  ],
  'merchant change': ["tapwire merchant change --acquirer 1 --name 'Corner Coffee and Cake' 1001"],
  'terminal add': [
    'tapwire terminal add --acquirer 1 --x-tid TERM0001 --tid TW000001 --mid SHOP00000000001 --takes-pin no',
  ],
  'user add': [
    'tapwire user add --acquirer 1 --merchant 1001 --username till@corner.example --role operator',
    'tapwire user add --acquirer 0 --username ops@bank.example --role operator',
  ],
  'api-key add': [
    'tapwire api-key add --acquirer 1 --integrator 1 --name back-office --scope transactions:read',
    'tapwire api-key add --acquirer 1 --name admin --scope tenants:manage --scope credentials:manage',
  ],
  'issuer-key add': [
    `tapwire issuer-key add --acquirer 1 --integrator 1 --issuer https://shop.example --kid shop-1 \\
      --public-key issuer-public.pem --proof proof.txt`,
  ],
  'issuer-key prove': [
    'tapwire issuer-key prove --acquirer 1 --issuer https://shop.example --private-key issuer.pem > proof.txt',
  ],
  'callback set': ['tapwire callback set --acquirer 1 --integrator 1 --serves links https://shop.example/webhooks'],
  'processor example': ['tapwire processor example type-1 > switch.json'],
  'processor add': ['tapwire processor add --acquirer 1 --type type-1 --config switch.json'],
  'route add': ['tapwire route add --acquirer 1 --processor 1'],
  simulate: [
    'tapwire simulate type-1=9101 type-2=9201',
    'tapwire simulate type-1=9101 --latency lognormal:8ms,p99=40ms --drop 0.1% --decline 3% --seed 7',
  ],
  profile: [
    `tapwire profile --out shop.json --merchant 1001 --terminal TERM0001 --user till-1 \\
      --issuer https://shop.example --kid shop-1 --private-key issuer.pem --api-key-file api.key`,
  ],
  load: [
    'tapwire load --rate 500 --duration 2m --report load.html',
    "tapwire load --arrivals steps:by=250,every=10s --fail-if 'p99>50ms,errors>0.1%'",
    'tapwire load compare before.json after.json --tolerance 5%',
  ],
  'verify-ledger': [
    'tapwire verify-ledger --ledger http://127.0.0.1:9000/ledger',
    'tapwire verify-ledger --ledger http://127.0.0.1:9000/ledger --since 2026-11-20T10:00:00Z --json',
  ],
  decode: ['tapwire decode --spec type-1 message.hex', 'tapwire decode --spec type-1 - < message.bin'],
  encode: ['tapwire encode --spec type-1 message.json'],
  diff: ['tapwire diff --spec type-1 request.hex response.hex'],
  tlv: ['tapwire tlv 9F0206000000001000'],
};
