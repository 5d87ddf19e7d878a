export { storeOver } from '../../src/testing/store-over.ts'
