import { type Service, sidecar, type Target } from '../../src/index.ts'
import { prices } from './topics.ts'

/**
 * Keeps the prices in the shop's own table up to date. The shop does not know. Columns that are not named here, such as
 * the shelf, stay the shop's; and a price that comes late does not replace a newer one.
 */
export function feedShop(target: Target): Service {
  return sidecar('shop-prices', {
    input: prices,
    target,
    key: { item_no: ({ key }) => key },
    columns: {
      unit_price: 'amount',
      curr: 'currency',
      last_upd: ({ timestamp }) => new Date(timestamp),
    },
    version: { by: 'field', of: ({ value }) => value.revision },
  })
}
