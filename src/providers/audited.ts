/** Provider accounts and routes whose every change is a row of the audit trail, for commands and the console. */
import type { Audit } from '#operations/audit/audit.ts'
import type { ProviderAdministration, ShownAccount } from '#providers/administration.ts'

/** Settings are shown to everybody who may see the account; secrets are named, never told. */
const describe = ({ merchantId, connector, name, enabled, settings, secrets }: ShownAccount) => ({
  merchantId,
  connector,
  name,
  enabled,
  settings,
  secrets,
})

export const auditProviders = <Providers extends ProviderAdministration>(
  providers: Providers,
  audit: Audit,
): Providers => ({
  ...providers,
  async add(merchantId, account) {
    const added = await providers.add(merchantId, account)
    await audit({ act: 'provider.add', object: added.accountId, after: describe(added) })
    return added
  },
  async set(accountId, edit) {
    const before = await providers.find(accountId)
    const changed = await providers.set(accountId, edit)
    const renewed = Object.keys(edit.secrets ?? {})
    await audit({
      act: 'provider.set',
      object: accountId,
      before: describe(before),
      after: { ...describe(changed), ...(renewed.length > 0 ? { renewedSecrets: renewed } : {}) },
    })
    return changed
  },
  async remove(accountId) {
    const removed = await providers.remove(accountId)
    await audit({ act: 'provider.remove', object: accountId, before: describe(removed) })
    return removed
  },
  async addRule(merchantId, rule) {
    const added = await providers.addRule(merchantId, rule)
    await audit({ act: 'route.add', object: added.ruleId, after: { merchantId, ...rule } })
    return added
  },
  async removeRule(ruleId) {
    await providers.removeRule(ruleId)
    await audit({ act: 'route.remove', object: ruleId })
  },
})
