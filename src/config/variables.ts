/** Every environment variable, its meaning and its default. */

export interface Variable {
  readonly name: string
  readonly meaning: string
  /** The default, in words. */
  readonly default: string
}

/** For `--help` and the documentation, in the order in which a reader needs them. */
export const variables: readonly Variable[] = [
  {
    name: 'TOLLGATE_ENVIRONMENT',
    meaning: 'test (simulated providers, no real money) or live',
    default: 'test',
  },
  { name: 'PORT', meaning: 'port to listen on; 0 takes any free one', default: '8080' },
  {
    name: 'HOST',
    meaning: 'address to listen on; other than loopback it needs TLS or a trusted proxy',
    default: '127.0.0.1',
  },
  {
    name: 'TOLLGATE_DATA',
    meaning: 'folder for the embedded database and what belongs to it',
    default: '.tollgate',
  },
  {
    name: 'DATABASE_URL',
    meaning: 'a PostgreSQL from version 15 on, as postgres://user:password@host/database',
    default: 'the embedded one',
  },
  { name: 'DATABASE_URL_FILE', meaning: 'a file that holds DATABASE_URL', default: 'none' },
  {
    name: 'TOLLGATE_MASTER_KEY',
    meaning: '32 bytes in base64 that seal cards and secrets; live needs it, or the file below',
    default: 'test: made in the data folder',
  },
  { name: 'TOLLGATE_MASTER_KEY_FILE', meaning: 'a file that holds TOLLGATE_MASTER_KEY', default: 'none' },
  {
    name: 'TOLLGATE_TLS_CERT',
    meaning: 'file with the certificate chain in PEM; a renewed one is taken up within a minute or two',
    default: 'none',
  },
  { name: 'TOLLGATE_TLS_KEY', meaning: "file with the certificate's private key in PEM", default: 'none' },
  {
    name: 'TOLLGATE_TRUSTED_PROXY',
    meaning:
      'proxies in front that end TLS and set X-Forwarded-For: addresses or networks (CIDR) with commas between, or how many; true is 1',
    default: 'false',
  },
  {
    name: 'TOLLGATE_PUBLIC_URL',
    meaning: 'origin under which others reach the gateway, such as https://pay.example.com',
    default: 'from HOST and PORT',
  },
  {
    name: 'TOLLGATE_LOOPBACK_WEBHOOKS',
    meaning: 'true or false: whether webhooks of the test environment may be sent to this machine itself',
    default: 'true, but false with a public HOST, TLS or a trusted proxy',
  },
  {
    name: 'TOLLGATE_SECURITY_CONTACT',
    meaning:
      'where security researchers report a vulnerability, for security.txt: an https:, mailto: or tel: address',
    default: 'mailto:security@ and the public host',
  },
  { name: 'TOLLGATE_LOG_LEVEL', meaning: 'debug, info, warn, error or silent', default: 'info' },
  {
    name: 'TOLLGATE_CONSOLE',
    meaning: 'off switches the console of operators off',
    default: 'on',
  },
  {
    name: 'TOLLGATE_CONSOLE_PORT',
    meaning: 'serves the console on a port of its own instead of the one of the API',
    default: 'the same port',
  },
  {
    name: 'TOLLGATE_WORKERS',
    meaning: 'processes that serve behind the one port, 1 to 64, or auto for one per core',
    default: '1',
  },
  {
    name: 'TOLLGATE_CELLS',
    meaning: 'cells that there must be at least, 1 to 100: schemas with merchants of their own',
    default: '1',
  },
  {
    name: 'TOLLGATE_CELL_URLS',
    meaning: 'databases that hold one cell each, as DATABASE_URL, with commas between; their order stays',
    default: 'none',
  },
  {
    name: 'TOLLGATE_CELL_URLS_FILE',
    meaning: 'a file that holds TOLLGATE_CELL_URLS',
    default: 'none',
  },
  {
    name: 'TOLLGATE_DRAIN_SECONDS',
    meaning: 'how long requests are still served after SIGTERM, 0 to 300, while readiness says 503',
    default: '5',
  },
  {
    name: 'TOLLGATE_DCC_MARKUP',
    meaning: 'percent on top of the published rate when cardholders are quoted their own currency, 0 to 20',
    default: '3.00',
  },
  {
    name: 'TOLLGATE_SIMULATOR_LATENCY_MS',
    meaning: 'milliseconds that the simulated providers take to answer, 0 to 10000; test only',
    default: '0',
  },
]
