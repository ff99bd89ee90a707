/**
 * The administration of provider accounts with every action recorded in the audit trail. Secrets appear by name only.
 */
import type { Audit } from '#operations/audit/audit.ts'
import type { AccountEdit, ProviderAdministration, ShownAccount } from '#providers/administration.ts'

export const auditProviders = (
  administration: ProviderAdministration,
  audit: Audit,
): ProviderAdministration => ({
  ...administration,
  async add(merchantId, account) {
    const added = await administration.add(merchantId, account)
    await audit({ act: 'provider.add', object: added.accountId, after: describe(added) })
    return added
  },
  async set(accountId, edit) {
    const changed = await administration.set(accountId, edit)
    const more = edit.secrets ? { replacedSecrets: Object.keys(edit.secrets) } : {}
    await audit({
      act: actOf(edit),
      object: accountId,
      before: describe(changed.before),
      after: { ...describe(changed.after), ...more },
    })
    return changed
  },
  async remove(accountId) {
    const removed = await administration.remove(accountId)
    await audit({ act: 'provider.remove', object: accountId, before: describe(removed) })
    return removed
  },
  async addRule(merchantId, rule) {
    const added = await administration.addRule(merchantId, rule)
    await audit({ act: 'route.add', object: added.ruleId, after: { merchantId, ...rule } })
    return added
  },
  async removeRule(ruleId) {
    const removed = await administration.removeRule(ruleId)
    const { ruleId: _object, createdAt: _at, ...before } = removed
    await audit({ act: 'route.remove', object: ruleId, before })
    return removed
  },
})

const actOf = ({ enabled }: AccountEdit): string => {
  if (enabled === undefined) return 'provider.set'
  return enabled ? 'provider.enable' : 'provider.disable'
}

const describe = ({ merchantId, connector, name, enabled, settings, secrets }: ShownAccount) => ({
  merchantId,
  connector,
  name,
  enabled,
  settings,
  secrets,
})
