// What `pollux run examples/bookshop/services.ts` runs.
import { shopTable } from './legacy-shop.ts'
import { feelMoods as feelMoodsBy } from './reviews.ts'
import { feedShop } from './shop-prices.ts'

export { bigMoves, priceMoves } from './almanac.ts'
export { sellBooks } from './orders.ts'
export { readiness } from './readiness.ts'
export { sortByLanguage } from './reviews.ts'

const { SHOP_DATABASE = '.pollux/shop', MODEL_URL = 'http://127.0.0.1:9470/moods' } = process.env

export const shopPrices = feedShop(shopTable(SHOP_DATABASE))
export const feelMoods = feelMoodsBy(MODEL_URL)
