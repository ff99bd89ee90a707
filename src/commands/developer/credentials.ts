/** The gateway and the merchant that a developer's command works with: those given by options, else the local demo merchant. */
import { type Command, Option } from 'commander'
import { UsageFault } from '#commands/faults.ts'
import { readDemoMerchant } from '#commands/serve/demo-merchant.ts'
import { findOrigin } from '#commands/serve/served.ts'
import type { Config } from '#config.ts'
import { ClientFault, createGatewayClient, type GatewayClient } from '#webhooks/gateway-client.ts'

export interface CredentialOptions {
  readonly api?: string
  readonly merchant?: string
  readonly key?: string
}

export const addCredentialOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--api <url>', 'base URL of the running gateway (default: this installation’s)').env(
        'TOLLGATE_API',
      ),
    )
    .addOption(
      new Option('--merchant <id>', 'merchant id (default: the demo merchant)').env('TOLLGATE_MERCHANT'),
    )
    .addOption(new Option('--key <key>', 'API key of that merchant').env('TOLLGATE_KEY'))

export interface Signed {
  readonly client: GatewayClient
  readonly merchantId: string
  readonly apiKey: string
  /** Known for the demo merchant only. */
  readonly webhookSecret?: string
}

export async function signIn(options: CredentialOptions, config: Config): Promise<Signed> {
  const { merchantId, apiKey, webhookSecret } = await findCredentials(options, config)
  const baseUrl = completeBaseUrl(options.api ?? findOrigin(config))
  return { client: createGatewayClient({ baseUrl, merchantId, apiKey }), merchantId, apiKey, webhookSecret }
}

/**
 * An address without a path is the origin of the gateway, where every request is 404, as if the payment did not exist
 * or the environment were live. A path is left unchanged, because a proxy may serve the API at a path of its own.
 */
function completeBaseUrl(given: string): string {
  const isOrigin = URL.canParse(given) && new URL(given).pathname === '/'
  return isOrigin ? new URL('/api/v2', given).href : given.replace(/\/$/, '')
}

async function findCredentials({ merchant, key }: CredentialOptions, { dataDirectory }: Config) {
  const demo = await readDemoMerchant(dataDirectory)
  if (demo?.apiKey === '' && key === undefined && (merchant ?? demo.merchantId) === demo.merchantId)
    throw new UsageFault(
      `the key of the demo merchant was not in the backup: "tollgate key rotate ${demo.merchantId}" makes a new one`,
    )
  if (merchant === undefined && key === undefined && demo) return demo
  if (merchant !== undefined && merchant === demo?.merchantId && (key === undefined || key === demo.apiKey))
    return demo
  if (merchant === undefined || key === undefined) {
    const why = demo
      ? 'only the demo merchant works without them'
      : 'there is no demo merchant in the data folder'
    throw new UsageFault(`--merchant and --key must be given: ${why}`)
  }
  return { merchantId: merchant, apiKey: key, webhookSecret: undefined }
}

/** The merchant's clock; live has none and uses real time. */
export async function readNow(client: GatewayClient): Promise<number> {
  try {
    return Date.parse((await client.get<{ now: string }>('/test/clock')).now)
  } catch (error) {
    if (error instanceof ClientFault && error.status === 404) return Date.now()
    throw error
  }
}
