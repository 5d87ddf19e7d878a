export { watchedBroker } from '../../src/testing/watched-broker.ts'
