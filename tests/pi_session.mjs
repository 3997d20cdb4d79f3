// Drives a session of the real pi with the extension that is installed in its folder, by a scripted model, and prints
// what happened as one JSON object.  Arguments: the folder of node_modules, and the scenario as JSON.
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [modules, given] = process.argv.slice(2);
const { page, hostile, hang, agentDir, cwd } = JSON.parse(given);
const load = (...words) => import(pathToFileURL(join(modules, "@earendil-works", ...words)).href);
const pi = await load("pi-coding-agent", "dist", "index.js");
const ai = await load("pi-ai", "dist", "index.js");

const options = { api: "scripted", provider: "scripted", models: [{ id: "one", name: "one" }] };
const scripted = ai.createFauxCore ? ai.createFauxCore(options) : ai.registerFauxProvider(options);
const definition = {
	baseUrl: "http://127.0.0.1:9/",
	apiKey: "none",
	api: "scripted",
	models: [
		{
			id: "one",
			name: "one",
			reasoning: false,
			input: ["text"],
			cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
			contextWindow: 100000,
			maxTokens: 1000,
		},
	],
	...(scripted.streamSimple ? { streamSimple: scripted.streamSimple } : {}),
};
const resourceLoader = new pi.DefaultResourceLoader({
	cwd,
	agentDir,
	extensionFactories: [(api) => api.registerProvider("scripted", definition)],
});
await resourceLoader.reload();
const { session, extensionsResult } = await pi.createAgentSession({
	cwd,
	agentDir,
	resourceLoader,
	model: scripted.getModel(),
	sessionManager: pi.SessionManager.inMemory(),
});
const told = [];
const ui = new Proxy({ notify: (text, kind) => told.push([kind ?? "info", text]) }, {
	get: (target, name) => target[name] ?? (() => undefined),
});
await session.bindExtensions({ uiContext: ui, mode: "rpc" });

const stages = [];
const results = {};
let abortAt;
session.subscribe((event) => {
	if (event.type === "tool_execution_update") {
		stages.push(event.partialResult.content[0].text);
		if (abortAt && event.toolCallId === abortAt) void session.abort();
	}
	if (event.type === "tool_execution_end") results[event.toolCallId] = event;
});
const use = (name, args, id) => ai.fauxAssistantMessage(ai.fauxToolCall(name, args, { id }), { stopReason: "toolUse" });
const say = (text) => ai.fauxAssistantMessage(text);
const seen = [];
const look = (context) => {
	seen.push(context.messages.filter((one) => one.role === "toolResult").map((one) => one.content[0].text));
	return say("done");
};

scripted.setResponses([
	use("web_fetch", { url: page, limit: 2 }, "fetch"),
	() => use("web_fetch_read", { fetch_id: results.fetch.result.details.documents[0].fetch_id }, "read"),
	use("web_search", { search_query: [{ q: "harbour lamps" }], response_length: "short" }, "search"),
	use("web_fetch", { url: hostile, limit: 50 }, "hostile"),
	use("web_fetch", { url: "http://10.0.0.1/" }, "refused"),
	use("web_fetch_read", { fetch_id: "nothing-like-it" }, "missing"),
	look,
	look,
]);
await session.prompt("fetch it");
await session.prompt("and now?");
const record = session.messages.filter((one) => one.role === "toolResult").map((one) => one.content[0].text);
const fetched = stages.length;
abortAt = "hang";
scripted.setResponses([use("web_fetch", { url: hang }, "hang"), say("done")]);
await session.prompt("fetch what hangs");

const runner = session.extensionRunner;
const command = async (name, args) => {
	await runner.getCommand(name).handler(args, runner.createCommandContext());
	return told.splice(0);
};
const commands = {
	get: await command("web-config", "network.allow"),
	all: await command("web-config", ""),
	wrong: await command("web-config", "no.such"),
	option: await command("web-config", "browser.extra_args --x"),
	open: await command("open-browser", "https://example.com/"),
};

pi.initTheme?.("dark", false);
const plain = (lines) => lines.map((line) => line.replace(/\x1b\[[0-9;]*m/g, "").trimEnd()).filter(Boolean);
const rendered = (name, args, result, isPartial, expanded) => {
	const screen = { requestRender() {}, terminal: { columns: 100, rows: 40 } };
	const row = new pi.ToolExecutionComponent(name, "id", args, {}, runner.getToolDefinition(name).definition ??
		runner.getToolDefinition(name), screen, cwd);
	if (result) row.updateResult(result, isPartial);
	row.setExpanded(expanded);
	return plain(row.render(100));
};
const end = results.fetch.result;
const view = { content: end.content, details: end.details, isError: false };
console.log(
	JSON.stringify({
		errors: extensionsResult.errors,
		tools: session.agent.state.tools.map((one) => one.name),
		prompt: session.agent.state.systemPrompt,
		results: Object.fromEntries(
			Object.entries(results).map(([id, one]) => [id, { text: one.result.content[0].text, error: one.isError, details: one.result.details }]),
		),
		stages: stages.slice(0, fetched),
		seen,
		record,
		commands,
		rendered: {
			call: rendered("web_fetch", { url: "https://example.com/\u001b[31m", limit: 2 }, undefined, true, false),
			partial: rendered("web_fetch", { url: page }, { content: [{ type: "text", text: stages[0] }], details: {}, isError: false }, true, false),
			preview: rendered("web_fetch", { url: page }, view, false, false),
			expanded: rendered("web_fetch", { url: page }, view, false, true),
		},
	}),
);
session.dispose?.();
process.exit(0);
