/** A gateway whose merchant pays through a double of Adyen, added as an operator adds it: by the command line. */
import { AdyenDouble, type AdyenDoubleOptions } from '#test/support/adyen-double.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import {
  masterKeyOf,
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from '#test/support/gateway.ts'

export interface AdyenGateway {
  readonly gateway: TestGateway
  readonly double: AdyenDouble
  readonly commands: CommandsHere
  readonly accountId: string
  /** Sends every notice that Adyen owes and applies it. */
  settle(): Promise<void>
  /** Applies what has arrived. */
  apply(): Promise<void>
  record(payId: string): Promise<AnyJson>
  stop(): Promise<void>
}

export interface AdyenGatewayOptions extends AdyenDoubleOptions {
  readonly rawCards?: boolean
  readonly gateway?: TestGatewayOptions
}

export async function startAdyenGateway(options: AdyenGatewayOptions = {}): Promise<AdyenGateway> {
  const double = await new AdyenDouble(options).start()
  const gateway = await startTestGateway(options.gateway)
  const { databaseUrl, merchantId } = gateway
  const commands = commandsHere(databaseUrl, { TOLLGATE_MASTER_KEY: masterKeyOf(databaseUrl) })
  const { accountId } = await commands.json(
    'provider',
    'add',
    merchantId,
    '--connector',
    'adyen',
    '--name',
    'Adyen',
    ...['--set', `merchantAccount=${double.checkout.merchantAccount}`],
    ...['--set', `rawCards=${options.rawCards ?? true}`],
    ...['--set', `multipleCaptures=${options.multipleCaptures ?? false}`],
    ...['--set', `baseUrl=${double.origin}`],
    ...['--secret', `apiKey=@${commands.file('api-key', double.apiKey)}`],
    ...['--secret', `hmacKey=@${commands.file('hmac-key', double.hmacKey)}`],
  )
  double.noticeUrl = `${gateway.url}/providers/${accountId}/notices`
  const apply = async (): Promise<void> => {
    await gateway.gateway.notices.runDue()
  }
  return {
    gateway,
    double,
    commands,
    accountId,
    apply,
    async settle() {
      await double.notify()
      await apply()
    },
    record: async payId => (await gateway.call('GET', `/payments/${payId}`)).body,
    async stop() {
      commands.remove()
      await gateway.stop()
      await double.close()
    },
  }
}
