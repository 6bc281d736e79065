import { AppServer } from './app-server.mjs';
import { makeHome } from './home.mjs';
import { startGateway } from './platform.mjs';
import { Wire } from './wire.mjs';

/**
 * Runs `scenario` with a gateway, a wire to it and a home of its own for Codex.
 * @param options.gateway further lines of the gateway's configuration
 * @param options.settings further settings of Codex
 */
export async function withSetting(engine, { provider, gateway: lines, settings }, scenario) {
  const gateway = await startGateway(engine.url, lines);
  const wire = await Wire.start(gateway.url);
  const home = makeHome(provider, wire.url, settings);
  try {
    return await scenario({ gateway, wire, home });
  } finally {
    home.remove();
    await wire.stop();
    await gateway.stop();
  }
}

/** The same, with `app`, an app server in which a conversation has been opened. */
export function withAppServer(engine, options, scenario) {
  return withSetting(engine, options, async (setting) => {
    const app = await AppServer.start(setting.home);
    try {
      return await scenario({ ...setting, app });
    } finally {
      await app.stop();
    }
  });
}
